import { ProductModule } from '#libs/modules';
import { AuthModule } from '../../../auth/index.js';
import { FieldsModule } from '../../../fields/index.js';
import { TeamModule } from '../../../team/index.js';
import { ContactsModule } from '../../contacts.module.js';
import { ContactUpdateRuns } from './contact-update-runs.js';
import { ImportAccess } from './import-access.js';
import { ImportFiles } from './import-files.js';
import { ImportJobs } from './import-jobs.js';
import { ImportProblems } from './import-problems.js';
import { ImportUndos } from './import-undos.js';
import * as operations from './operations.js';
import { StartImport } from './start-import.js';

/** Imports in the background. A module of its own, because `src/team` builds on contacts. */
@ProductModule({
  operations,
  services: { import: 'Files of contacts that are imported in the background.' },
  imports: [ContactsModule, FieldsModule, TeamModule, AuthModule],
  providers: [ContactUpdateRuns, ImportAccess, ImportFiles, ImportProblems, ImportUndos, StartImport],
  exports: [StartImport],
  background: [ImportJobs],
})
export class ImportJobsModule {}
