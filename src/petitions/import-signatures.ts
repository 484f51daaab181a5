import { handlerOf, Id, OneOf, Operation, recordSchema } from '#libs/rpc';
import { importSignaturesOf } from '../contacts/index.js';
import { IMPORTED_TYPES, ImportedFile, StartImport } from '../contacts/import/jobs/index.js';
import { type Petition, requirePublishedOnce } from './petition.js';
import { petitions, signedWith } from './petitions.js';

@Operation({
  name: 'petition.import-signatures',
  object: 'import',
  summary: 'Import signatures in the background',
  description:
    'For signatures on paper and from other systems. Send the file as the body, as for ' +
    '`import.create-import`: CSV, tab-separated values, or NDJSON with one signer per line. ' +
    '`import.get-import`, `import.get-import-rows`, `import.get-import-problems` and ' +
    '`import.cancel-import` work for it too. Rows are read as by `contact.import-contacts`, with the same ' +
    'rules about consent. The contact of each row is found or created, and signs the petition. This also needs the scope ' +
    '`contact:write`.\n\nFurther columns are recognized by their usual names, and `map` can name them: ' +
    '`signedAt`, when the person signed, as a date or RFC 3339, not before 1970 (default: now); `comment`, ' +
    'up to 10,000 characters, which is not published; and `source`, up to 100 characters. A row whose ' +
    '`status` is not confirmed fails. The fields of `petition.export-signatures` are accepted too.\n\nThe ' +
    'petition must be published or closed, so you can import signatures after its end. Signers receive no ' +
    'email. A contact has one active signature per petition: if it has signed before, that signature is ' +
    'left unchanged. An outcome is `CREATED` if the contact was created, `UPDATED` if an existing contact ' +
    'signed or was changed, and `UNCHANGED` if neither. `signed` counts the added signatures.',
  answers: recordSchema({ importId: { type: 'string' } }),
  reasons: ['PETITION_NOT_PUBLISHED'],
  bodyTypes: IMPORTED_TYPES,
  fieldScopes: { listId: 'list:write' },
})
export class ImportSignatures extends ImportedFile {
  @Id()
  petitionId!: string;

  @OneOf(['keep', 'update', 'fail'], {
    default: 'keep',
    description:
      'If the contact of a row exists with other details: `keep` keeps them, `update` replaces them, and ' +
      'with `fail`, the row fails and adds no signature. `keep` and `update` record a stated refusal of ' +
      'email.',
  })
  onConflict!: 'keep' | 'update' | 'fail';
}

export const ImportSignaturesHandler = handlerOf(ImportSignatures, [StartImport], (command, imports) =>
  imports.start(command),
);

importSignaturesOf({
  resource: petitions,
  requireImportable: (state) => requirePublishedOnce(state as Petition),
  detailsOf: ({ comment, source, signedAt }) => ({
    personal: comment === null ? null : { comment },
    more: signedWith({ source, signedAt }),
  }),
});
