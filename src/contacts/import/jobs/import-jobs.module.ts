import { ProductModule } from '#libs/modules';
import { TeamModule } from '../../../team/index.js';
import { ImportJobs } from './import-jobs.js';

/** Imports in the background. A module of its own, because `src/team` builds on contacts. */
@ProductModule({
  operations: {},
  imports: [TeamModule],
  background: [ImportJobs],
})
export class ImportJobsModule {}
