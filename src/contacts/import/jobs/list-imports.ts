import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { CreatedPageInput, Operation, type Page } from '#libs/rpc';
import { ImportJobs } from './import-jobs.js';
import { SCOPE } from './import-plan.js';
import { type ImportRecord, importRecordOf, importSchema } from './import-record.js';

@Operation({
  name: 'import.list-imports',
  scope: SCOPE,
  summary: 'List imports',
  description: 'Covers the last seven days, including imports started in the dashboard.',
  answers: importSchema,
  list: true,
})
export class ListImports extends CreatedPageInput() {}

@QueryHandler(ListImports)
export class ListImportsHandler implements IQueryHandler<ListImports> {
  constructor(private readonly jobs: ImportJobs) {}

  async execute(query: ListImports): Promise<Page<ImportRecord>> {
    const { records, pagination } = await this.jobs.list(query);
    return { records: records.map(importRecordOf), pagination };
  }
}
