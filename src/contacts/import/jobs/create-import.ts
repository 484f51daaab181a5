import { handlerOf, OneOf, Operation, recordSchema } from '#libs/rpc';
import { SCOPE } from './import-plan.js';
import { IMPORTED_TYPES, ImportedFile, StartImport } from './start-import.js';

@Operation({
  name: 'import.create-import',
  scope: SCOPE,
  summary: 'Import contacts in the background',
  description:
    'Send the file as the body: CSV, tab-separated values, or NDJSON with one contact per line. It can be ' +
    'of any size, and compressed (`Content-Encoding: gzip`). The response is sent once the file is stored. ' +
    'The import then continues in the background; `import.get-import` returns its progress. Rows are read ' +
    'and imported as by `contact.import-contacts`: the same columns are recognized, and no one is ' +
    'subscribed by accident.\n\nThe file is stored encrypted and deleted when the import ends, or after ' +
    'seven days. The outcomes of its rows are kept for seven days. If the API key is revoked, or the user ' +
    'loses a permission that the import needs, it stops with the status `FAILED`. To resume it, send the ' +
    'file again: rows that were imported are `unchanged`. Columns of tags, of lists and of bounced ' +
    'addresses need the scopes `tag:write`, `list:write` and `suppression:write`. An organization can have ' +
    '20 imports that have not ended.',
  answers: recordSchema({ importId: { type: 'string' } }),
  bodyTypes: IMPORTED_TYPES,
  fieldScopes: { listId: 'list:write' },
})
export class CreateImport extends ImportedFile {
  @OneOf(['fail', 'update'], {
    default: 'fail',
    description:
      'For a row whose contact already exists with other details: `fail` rejects the row, and `update` changes the contact.',
  })
  onConflict!: 'fail' | 'update';
}

export const CreateImportHandler = handlerOf(CreateImport, [StartImport], (command, imports) =>
  imports.start(command),
);
