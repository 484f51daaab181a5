import { type Commands, type RecordReader } from '#libs/commands';
import { type Actor, type Past } from '#libs/event-store';
import { actorSchema, type Input, recordSchema, recordVersion, resourceSchema, textOrNull } from '#libs/rpc';
import { contact, existingContact } from '../contacts/index.js';
import { contactNotes, type Note, type NoteEvent, type Notes, notesIdOf, notesWrite } from './note.js';

/** A note as the API returns it. */
export type NoteRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  version: number;
  contactId: string;
  text: string | null;
  author: Actor;
  organizationId: string;
};

export const noteSchema = resourceSchema({
  version: recordVersion,
  contactId: { type: 'string' },
  text: { ...textOrNull, description: 'Plain text. Null if the contact has been deleted since `asOf`.' },
  author: { ...actorSchema, description: 'The user or the API key that created the note.' },
});

export const noteIdSchema = recordSchema({ noteId: { type: 'string' }, contactId: { type: 'string' } });

type OfContact = { organizationId: string; contactId: string };

/** The notes of a contact. @throws RpcError NOT_FOUND if the contact does not exist, or did not exist at that moment. */
export async function notesAt(
  records: RecordReader,
  { organizationId, contactId }: OfContact,
  past?: Past,
): Promise<Notes> {
  existingContact((await records.look(contact, organizationId, contactId, past)).state);
  return (await records.look(contactNotes, organizationId, notesIdOf(contactId), past)).state;
}

/**
 * Changes the notes of a contact.
 *
 * @param decide returns the events, and the version of the note before, if the client may expect one.
 * @returns the notes as the change left them, also if the request is repeated.
 * @throws RpcError NOT_FOUND if the contact does not exist, and the errors of `decide`.
 */
export async function changeNotes(
  commands: Commands,
  records: RecordReader,
  input: Input & OfContact,
  decide: (state: Notes) => { events: NoteEvent[]; recordVersion?: number },
): Promise<Notes> {
  const { organizationId, contactId } = input;
  const recordId = notesIdOf(contactId);
  const { version } = await commands.run(input, async () => {
    existingContact((await records.load(contact, organizationId, contactId)).state);
    const { state, version: before } = await records.load(contactNotes, organizationId, recordId);
    const { events, ...rest } = decide(state);
    return { recordId, ...rest, writes: [notesWrite(contactId, before, events)] };
  });
  return (await records.look(contactNotes, organizationId, recordId, { version })).state;
}

export function noteRecord({ organizationId, contactId }: OfContact, note: Note): NoteRecord {
  const { id, createdAt, updatedAt, version, text, author } = note;
  return { id, createdAt, updatedAt, version, contactId, text, author, organizationId };
}
