import { type StreamWrite } from '#libs/event-store';
import { contact, type ContactEvent } from './contact.js';

/** Events to append to a contact at this version. */
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
