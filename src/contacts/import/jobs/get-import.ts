import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { noSuch, Operation, RecordInput } from '#libs/rpc';
import { ImportJobs } from './import-jobs.js';
import { SCOPE } from './import-plan.js';
import { type ImportRecord, importRecordOf, importSchema } from './import-record.js';

@Operation({
  name: 'import.get-import',
  scope: SCOPE,
  summary: 'Retrieve an import',
  description:
    'Returns its status and the counts so far. Imports can be found for seven days, including those started in the dashboard.',
  answers: importSchema,
})
export class GetImport extends RecordInput('importId') {}

@QueryHandler(GetImport)
export class GetImportHandler implements IQueryHandler<GetImport> {
  constructor(private readonly jobs: ImportJobs) {}

  async execute({ organizationId, importId }: GetImport): Promise<ImportRecord> {
    const found = await this.jobs.find(organizationId, importId);
    if (found.status === 'KEPT') throw noSuch('import');
    return importRecordOf(found);
  }
}
