import { writeNdjson } from '#libs/records';
import { handlerOf, Operation, RecordInput, recordSchema, StreamedAnswer, textOrNull } from '#libs/rpc';
import { NDJSON } from '../imported-contacts.js';
import { type OutcomePage } from './attempt.js';
import { ImportJobs } from './import-jobs.js';
import { SCOPE } from './import-plan.js';

@Operation({
  name: 'import.get-import-rows',
  object: 'rows',
  scope: SCOPE,
  summary: 'Get the outcome of each row',
  description:
    'Streams one line per processed row, in the order of the file. `contactId` is the contact that was created, ' +
    'updated or left unchanged; in a dry run, null for a contact that would be created. A response without its ' +
    'last chunk (RFC 9112, section 8) is incomplete: request it again.',
  answers: recordSchema({
    line: { type: 'integer', description: 'The first line of the row in the file.' },
    outcome: { type: 'string', enum: ['CREATED', 'UPDATED', 'UNCHANGED', 'FAILED'] },
    contactId: textOrNull,
    message: { ...textOrNull, description: 'Why the row failed.' },
  }),
  answerTypes: [NDJSON],
})
export class GetImportRows extends RecordInput('importId') {}

export const GetImportRowsHandler = handlerOf(
  GetImportRows,
  [ImportJobs],
  async ({ organizationId, importId }, jobs) => {
    const { pages } = await jobs.outcomes(organizationId, importId);
    return new StreamedAnswer(NDJSON, 'rows.ndjson', linesOf(pages));
  },
);

async function* linesOf(pages: AsyncIterable<OutcomePage>): AsyncGenerator<string> {
  for await (const { rows } of pages) {
    if (rows.length === 0) continue;
    yield writeNdjson(
      rows.map((row) => ({
        line: row.line,
        outcome: row.did.toUpperCase(),
        contactId: row.contactId,
        message: row.did === 'failed' ? row.message : null,
      })),
    );
  }
}
