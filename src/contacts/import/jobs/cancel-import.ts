import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Requests } from '#libs/commands';
import { Operation, RecordInput } from '#libs/rpc';
import { ImportJobs } from './import-jobs.js';
import { SCOPE } from './import-plan.js';
import { type ImportRecord, importRecordOf, importSchema } from './import-record.js';

@Operation({
  name: 'import.cancel-import',
  scope: SCOPE,
  summary: 'Cancel an import',
  description:
    'The rows in progress are finished, usually within a second. The status is then `CANCELLED`. Contacts imported so ' +
    'far are kept. An import that has already ended stays unchanged.',
  answers: importSchema,
})
export class CancelImport extends RecordInput('importId') {}

@CommandHandler(CancelImport)
export class CancelImportHandler implements ICommandHandler<CancelImport> {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly requests: Requests,
  ) {}

  async execute(command: CancelImport): Promise<ImportRecord> {
    const { organizationId, importId } = command;
    await this.requests.runOutside(command, async () => {
      await this.jobs.cancel(organizationId, importId);
      return { importId };
    });
    return importRecordOf(await this.jobs.find(organizationId, importId));
  }
}
