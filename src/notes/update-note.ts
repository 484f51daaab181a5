import { Commands, RecordReader } from '#libs/commands';
import { handlerOf, Id, Operation, RecordInput, Text } from '#libs/rpc';
import { changeNotes, noteRecord, noteSchema } from './contact-notes.js';
import { LONGEST_NOTE } from './create-note.js';
import { existingNote, updateNote } from './note.js';

@Operation({
  name: 'note.update-note',
  summary: 'Update a note',
  description: 'The history keeps the previous text until the contact is deleted.',
  answers: noteSchema,
  reasons: ['MERGED'],
})
export class UpdateNote extends RecordInput('contactId') {
  @Id()
  noteId!: string;

  @Text({ max: LONGEST_NOTE, example: 'Called twice, wants to help at the stall' })
  text!: string;
}

export const UpdateNoteHandler = handlerOf(
  UpdateNote,
  [Commands, RecordReader],
  async (command, commands, records) => {
    const { contactId, noteId, text } = command;
    const changed = await changeNotes(commands, records, command, (state) => ({
      events: updateNote(state, { contactId, noteId }, text),
      recordVersion: existingNote(state, noteId).version,
    }));
    return noteRecord(command, existingNote(changed, noteId));
  },
);
