import { Requests } from '#libs/commands';
import { handlerOf, Operation, RecordInput } from '#libs/rpc';
import { ImportJobs } from './import-jobs.js';
import { SCOPE } from './import-plan.js';
import { importRecordOf, importSchema } from './import-record.js';

@Operation({
  name: 'import.cancel-import',
  isConditional: false,
  scope: SCOPE,
  summary: 'Cancel an import',
  description:
    'The rows in progress are finished, usually within a second. The status is then `CANCELLED`. Contacts imported so ' +
    'far are kept. An import that has already ended stays unchanged.',
  answers: importSchema,
})
export class CancelImport extends RecordInput('importId') {}

export const CancelImportHandler = handlerOf(
  CancelImport,
  [ImportJobs, Requests],
  async (command, jobs, requests) => {
    const { organizationId, importId } = command;
    await requests.runOutside(command, async () => {
      await jobs.cancel(organizationId, importId);
      return { importId };
    });
    return importRecordOf(await jobs.find(organizationId, importId));
  },
);
