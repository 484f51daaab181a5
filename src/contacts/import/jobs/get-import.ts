import { handlerOf, noSuch, Operation, RecordInput } from '#libs/rpc';
import { ImportJobs } from './import-jobs.js';
import { SCOPE } from './import-plan.js';
import { importRecordOf, importSchema } from './import-record.js';

@Operation({
  name: 'import.get-import',
  scope: SCOPE,
  summary: 'Retrieve an import',
  description:
    'Returns its status and the counts so far. Imports can be found for seven days, including those started in the dashboard.',
  answers: importSchema,
})
export class GetImport extends RecordInput('importId') {}

export const GetImportHandler = handlerOf(
  GetImport,
  [ImportJobs],
  async ({ organizationId, importId }, jobs) => {
    const found = await jobs.find(organizationId, importId);
    if (found.status === 'KEPT') throw noSuch('import');
    return importRecordOf(found);
  },
);
