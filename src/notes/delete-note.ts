import { Commands, RecordReader } from '#libs/commands';
import { handlerOf, Id, Operation, RecordInput } from '#libs/rpc';
import { changeNotes, noteIdSchema } from './contact-notes.js';
import { deleteNote } from './note.js';

@Operation({
  name: 'note.delete-note',
  summary: 'Delete a note',
  description: 'The history keeps the text until the contact is deleted.',
  answers: noteIdSchema,
  reasons: ['MERGED'],
})
export class DeleteNote extends RecordInput('contactId') {
  @Id()
  noteId!: string;
}

export const DeleteNoteHandler = handlerOf(
  DeleteNote,
  [Commands, RecordReader],
  async (command, commands, records) => {
    const { contactId, noteId } = command;
    await changeNotes(commands, records, command, (state) => ({
      events: deleteNote(state, { contactId, noteId }),
      recordVersion: state.notes.find(({ id }) => id === noteId)!.version,
    }));
    return { noteId, contactId };
  },
);
