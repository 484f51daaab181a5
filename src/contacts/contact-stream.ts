import { type RecordReader } from '#libs/commands';
import { type StreamWrite } from '#libs/event-store';
import { contact, type ContactEvent, type ExistingContact } from './contact.js';

/** The contact with this id, or the one that it was merged into. Undefined if it does not exist or was erased. */
export async function findMerged(
  records: RecordReader,
  organizationId: string,
  contactId: string,
): Promise<{ contactId: string; state: ExistingContact; version: number } | undefined> {
  const { state, version } = await records.load(contact, organizationId, contactId);
  if (state.status === 'standing') return { contactId, state, version };
  const into = state.status === 'erased' ? state.mergedInto : undefined;
  return into === undefined ? undefined : findMerged(records, organizationId, into);
}

export type ContactChange = { contactId: string; version: number; events: ContactEvent[] };

/** Events for a contact's stream; the contact is the subject of its personal data. */
export function contactWrite(
  contactId: string,
  expectedVersion: number,
  events: ContactEvent[],
): StreamWrite {
  return {
    streamType: contact.streamType,
    streamId: contactId,
    expectedVersion,
    events,
    subjectId: contactId,
  };
}
