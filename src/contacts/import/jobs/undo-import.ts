import { Requests } from '#libs/commands';
import { handlerOf, Operation, RecordInput } from '#libs/rpc';
import { ImportJobs } from './import-jobs.js';
import { SCOPE } from './import-plan.js';
import { importRecordOf, importSchema } from './import-record.js';

@Operation({
  name: 'import.undo-import',
  scope: SCOPE,
  summary: 'Undo an import',
  description:
    'Deletes the contacts that the import created, like contact.delete-contact. Possible for 24 hours after the import ended, even if it failed or was cancelled. It keeps contacts that another request has changed since, or linked to a ' +
    'signature, a tag or a list. It also keeps contacts with an unconfirmed signature. Signatures that the ' +
    'import added for the deleted contacts are withdrawn. Contacts that the import updated or left unchanged are not ' +
    'touched, and keep added signatures, tags and lists.\n\nThe response is sent immediately; `undo` of ' +
    'import.get-import shows the progress. Repeating the request changes nothing, except that it continues an undo that ' +
    'failed. If the API key is revoked, or the user loses a permission, the undo fails.',
  answers: importSchema,
  reasons: ['IMPORT_UNFINISHED', 'UNDO_EXPIRED'],
})
export class UndoImport extends RecordInput('importId') {}

export const UndoImportHandler = handlerOf(
  UndoImport,
  [ImportJobs, Requests],
  async (command, jobs, requests) => {
    const { organizationId, importId, context } = command;
    await requests.runOutside(command, async () => {
      await jobs.undo(organizationId, importId, context.actor);
      return { importId };
    });
    return importRecordOf(await jobs.find(organizationId, importId));
  },
);
