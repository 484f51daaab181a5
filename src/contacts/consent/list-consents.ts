import { RecordReader } from '#libs/commands';
import { type Actor } from '#libs/event-store';
import {
  actorSchema,
  handlerOf,
  Integer,
  malformedCursor,
  Operation,
  type Page,
  RecordInput,
  recordSchema,
  Text,
  textOrNull,
  timestamp,
} from '#libs/rpc';
import { type Evidence } from './consent.js';
import { type ConsentChange, Consents, isGiven } from './consents.js';
import { contact, existingContact } from '../contact.js';
import { includeInContacts } from '../parts/contact-parts.js';

/** A consent or refusal as the API returns it. */
export type ConsentRecord = {
  given: boolean;
  at: string;
  source: string | null;
  text: string | null;
  language: string | null;
  ip: string | null;
  actor: Actor;
  eventId: string;
};

const consentSchema = recordSchema({
  given: { type: 'boolean', description: 'Whether the person agreed to receive email.' },
  at: {
    ...timestamp,
    description:
      'When consent was given or refused, according to its evidence. Otherwise, when it was recorded.',
  },
  source: textOrNull,
  text: { ...textOrNull, description: 'The wording shown to the person.' },
  language: {
    ...textOrNull,
    description: "The language of `text`, if one of the server's own pages showed it.",
  },
  ip: textOrNull,
  actor: actorSchema,
  eventId: {
    type: 'string',
    description: 'The event that proves the consent. Use it with history.get-event and history.get-proof.',
  },
});

@Operation({
  name: 'contact.list-consents',
  summary: "List a contact's consents",
  description:
    'Lists every time the contact was subscribed or unsubscribed, and every `consent` sent with it, newest ' +
    'first. Deleting the contact destroys the evidence.',
  answers: consentSchema,
  list: true,
  reasons: ['MERGED'],
})
export class ListConsents extends RecordInput('contactId') {
  @Integer({ min: 1, max: 100, default: 25, description: 'Records per page.' })
  limit!: number;

  @Text({ max: 100, optional: true, description: '`pagination.cursor` of the previous page.' })
  cursor?: string;
}

export const ListConsentsHandler = handlerOf(
  ListConsents,
  [RecordReader, Consents],
  async (query, records, consents) => {
    const { organizationId, contactId } = query;
    existingContact((await records.look(contact, organizationId, contactId)).state);
    return consentPage(consents, query);
  },
);

async function consentPage(
  consents: Consents,
  { organizationId, contactId, limit, cursor }: Omit<ListConsents, 'context'>,
): Promise<Page<ConsentRecord>> {
  const place = cursor === undefined ? undefined : readCursor(cursor);
  const { said, next } = await consents.list(organizationId, contactId, limit, place);
  return {
    records: said.map(consentRecord),
    pagination: { cursor: next ? `${next.before}.${next.proved}` : null, hasMore: next !== undefined },
  };
}

includeInContacts('consents', {
  schema: consentSchema,
  page: ({ consents }, query) => consentPage(consents, query),
});

function readCursor(cursor: string): { before: number; proved: number } {
  if (!/^\d{1,15}\.\d{1,9}$/.test(cursor)) throw malformedCursor();
  const [before, proved] = cursor.split('.').map(Number);
  return { before: before!, proved: proved! };
}

function consentRecord(event: ConsentChange): ConsentRecord {
  const { source = null, text = null, language = null, at, ip = null } = evidenceIn(event);
  return {
    given: isGiven(event),
    at: at ?? event.recordedAt.toISOString(),
    source,
    text,
    language,
    ip,
    actor: event.metadata.actor,
    eventId: event.eventId,
  };
}

function evidenceIn(event: ConsentChange): Evidence {
  return event.type === 'ConsentRecorded' ? (event.personal ?? {}) : {};
}
