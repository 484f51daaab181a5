import { Commands, RecordReader } from '#libs/commands';
import { newId } from '#libs/random';
import { handlerOf, Operation, RecordInput, Text } from '#libs/rpc';
import { changeNotes, noteIdSchema } from './contact-notes.js';
import { createNote } from './note.js';

/** The longest text, in characters. */
export const LONGEST_NOTE = 5_000;

@Operation({
  name: 'note.create-note',
  summary: 'Create a note',
  description:
    'Your team keeps notes about a contact, such as “Called, wants to help at the stall”. No page or email shows them to the ' +
    'contact, but `contact.export-person` contains them, because people can request their data. Sending the same body again returns the first note, as long as it exists with that text. To create an identical ' +
    'one, send an `Idempotency-Key`.',
  answers: noteIdSchema,
  reasons: ['MERGED', 'NOTE_LIMIT_REACHED'],
})
export class CreateNote extends RecordInput('contactId') {
  @Text({ max: LONGEST_NOTE, example: 'Called, wants to help at the stall' })
  text!: string;
}

export const CreateNoteHandler = handlerOf(
  CreateNote,
  [Commands, RecordReader],
  async (command, commands, records) => {
    const { contactId, text, context } = command;
    let existing: string | undefined;
    const { notes: all } = await changeNotes(commands, records, command, (state) => {
      const isRepeatable = context.idempotencyKey === undefined;
      existing = state.notes.find((note) => isRepeatable && note.text === text)?.id;
      if (existing === undefined)
        return { events: createNote(state, { contactId, noteId: newId() }, text, context.actor) };
      context.onReplay?.();
      return { events: [] };
    });
    return { noteId: existing ?? all.at(-1)!.id, contactId };
  },
);
