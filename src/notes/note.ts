import { createHash } from 'node:crypto';
import { type Actor, type Decider, streamIdOf, type StreamWrite } from '#libs/event-store';
import { noSuch, RpcError } from '#libs/rpc';

export type Note = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  version: number;
  /** Null after the contact was erased. */
  text: string | null;
  author: Actor;
  isDeleted: boolean;
};

/** `text` may name anyone, so it is encrypted with the contact's key. */
type Text = { text: string } | null;
type Named = { contactId: string; noteId: string };

export type NoteEvent =
  | { type: 'NoteCreated'; data: Named & { author: Actor }; personal: Text }
  | { type: 'NoteUpdated'; data: Named; personal: Text }
  | { type: 'NoteDeleted'; data: Named }
  /** The note of a contact that was merged into this one. Times are in ISO 8601. */
  | {
      type: 'NoteMoved';
      data: Named & { from: string; author: Actor; createdAt: string; updatedAt: string; version: number };
      personal: Text;
    };

/** The notes of one contact, in the order in which they were added. */
export type Notes = { notes: readonly Note[] };

/** Existing notes per contact. Each command reads all of them. */
export const MAX_NOTES = 500;

/**
 * One stream contains all notes of a contact. A merge can therefore require that no note is added while it moves them. The
 * contact is the stream's subject, so erasing the contact destroys the texts.
 */
export const contactNotes: Decider<Notes, NoteEvent> = {
  streamType: 'contact-notes',
  initial: { notes: [] },
  events: { NoteCreated: true, NoteUpdated: true, NoteDeleted: true, NoteMoved: true },
  evolve({ notes }, event, now) {
    const { noteId: id } = event.data;
    const change = (changes: Partial<Note>): Notes => ({
      notes: notes.map((note) =>
        note.id === id ? { ...note, ...changes, updatedAt: now, version: note.version + 1 } : note,
      ),
    });
    switch (event.type) {
      case 'NoteCreated': {
        const { author } = event.data;
        const text = event.personal?.text ?? null;
        return {
          notes: [
            ...notes,
            { id, createdAt: now, updatedAt: now, version: 1, text, author, isDeleted: false },
          ],
        };
      }
      case 'NoteUpdated':
        return change({ text: event.personal?.text ?? null });
      case 'NoteDeleted':
        return change({ text: null, isDeleted: true });
      case 'NoteMoved': {
        const { createdAt, updatedAt, version, author } = event.data;
        const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
        const text = event.personal?.text ?? null;
        return { notes: [...notes, { id, ...times, version, text, author, isDeleted: false }] };
      }
    }
  },
};

/** Derived from the contact's id. */
export function notesIdOf(contactId: string): string {
  return streamIdOf(createHash('sha256').update(`contact-notes ${contactId}`).digest());
}

export function notesWrite(
  contactId: string,
  expectedVersion: number,
  events: readonly NoteEvent[],
): StreamWrite {
  const { streamType } = contactNotes;
  return { streamType, streamId: notesIdOf(contactId), expectedVersion, events, subjectId: contactId };
}

/** Newest first. Ids are in the order of creation. */
export function existingNotes({ notes }: Notes): Note[] {
  return notes.filter(({ isDeleted }) => !isDeleted).toSorted((one, other) => (one.id < other.id ? 1 : -1));
}

/** @throws RpcError NOT_FOUND */
export function existingNote(state: Notes, noteId: string): Note {
  const note = state.notes.find(({ id }) => id === noteId);
  if (!note || note.isDeleted) throw noSuch('note');
  return note;
}

/** @throws RpcError CONFLICT if the contact has too many notes. */
export function createNote(state: Notes, named: Named, text: string, author: Actor): NoteEvent[] {
  if (existingNotes(state).length >= MAX_NOTES) {
    const message = `This contact already has ${MAX_NOTES} notes. Delete some of them first.`;
    throw new RpcError('CONFLICT', message, { reason: 'NOTE_LIMIT_REACHED' });
  }
  return [{ type: 'NoteCreated', data: { ...named, author }, personal: { text } }];
}

export function updateNote(state: Notes, named: Named, text: string): NoteEvent[] {
  const before = existingNote(state, named.noteId);
  return before.text === text ? [] : [{ type: 'NoteUpdated', data: named, personal: { text } }];
}

/** Deleting a deleted note changes nothing. */
export function deleteNote({ notes }: Notes, named: Named): NoteEvent[] {
  const before = notes.find(({ id }) => id === named.noteId);
  if (!before) throw noSuch('note');
  return before.isDeleted ? [] : [{ type: 'NoteDeleted', data: named }];
}

/** The events that move notes to the contact `to`. Erased texts cannot be moved. */
export function moveNotes(state: Notes, from: string, to: string): NoteEvent[] {
  return existingNotes(state)
    .toReversed()
    .flatMap(({ id: noteId, createdAt, updatedAt, version, text, author }): NoteEvent[] => {
      const times = { createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
      const data = { contactId: to, noteId, from, author, ...times, version };
      return text === null ? [] : [{ type: 'NoteMoved', data, personal: { text } }];
    });
}
