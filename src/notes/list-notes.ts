import { RecordReader } from '#libs/commands';
import { type Past } from '#libs/event-store';
import {
  handlerOf,
  Integer,
  isId,
  malformedCursor,
  Operation,
  type Page,
  PastInput,
  PastRecord,
  Text,
} from '#libs/rpc';
import { includeInContacts } from '../contacts/index.js';
import { noteRecord, notesAt, type NoteRecord, noteSchema } from './contact-notes.js';
import { existingNotes } from './note.js';

@Operation({
  name: 'note.list-notes',
  summary: "List a contact's notes",
  description: 'Newest first.',
  answers: noteSchema,
  list: true,
  reasons: ['MERGED'],
})
export class ListNotes extends PastInput('contactId', 'list') {
  @Integer({ min: 1, max: 100, default: 25, description: 'Records per page.' })
  limit!: number;

  @Text({ max: 100, optional: true, description: '`pagination.cursor` of the previous page.' })
  cursor?: string;
}

export const ListNotesHandler = handlerOf(ListNotes, [RecordReader], async (query, records) => {
  const past = await records.past(query.asOf);
  const page = await notePage(records, query, past);
  return past ? new PastRecord(page, past) : page;
});

async function notePage(
  records: RecordReader,
  query: Pick<ListNotes, 'organizationId' | 'contactId' | 'limit' | 'cursor'>,
  past?: Past,
): Promise<Page<NoteRecord>> {
  const { limit, cursor } = query;
  if (cursor !== undefined && !isId(cursor)) throw malformedCursor();
  const rest = existingNotes(await notesAt(records, query, past)).filter(
    ({ id }) => cursor === undefined || id < cursor,
  );
  const page = rest.slice(0, limit);
  const hasMore = rest.length > limit;
  return {
    records: page.map((note) => noteRecord(query, note)),
    pagination: { cursor: hasMore ? page.at(-1)!.id : null, hasMore },
  };
}

includeInContacts('notes', {
  scope: 'note:read',
  schema: noteSchema,
  page: ({ records }, query) => notePage(records, query),
});
