import { CreatedPageInput, handlerOf, Operation } from '#libs/rpc';
import { ImportJobs } from './import-jobs.js';
import { SCOPE } from './import-plan.js';
import { importRecordOf, importSchema } from './import-record.js';

@Operation({
  name: 'import.list-imports',
  scope: SCOPE,
  summary: 'List imports',
  description: 'Covers the last seven days, including imports started in the dashboard.',
  answers: importSchema,
  list: true,
})
export class ListImports extends CreatedPageInput() {}

export const ListImportsHandler = handlerOf(ListImports, [ImportJobs], async (query, jobs) => {
  const { records, pagination } = await jobs.list(query);
  return { records: records.map(importRecordOf), pagination };
});
