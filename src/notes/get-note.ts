import { RecordReader } from '#libs/commands';
import { handlerOf, Id, Operation, PastInput, PastRecord } from '#libs/rpc';
import { noteRecord, notesAt, noteSchema } from './contact-notes.js';
import { existingNote } from './note.js';

@Operation({ name: 'note.get-note', summary: 'Retrieve a note', answers: noteSchema, reasons: ['MERGED'] })
export class GetNote extends PastInput('contactId', 'note') {
  @Id()
  noteId!: string;
}

export const GetNoteHandler = handlerOf(GetNote, [RecordReader], async (query, records) => {
  const past = await records.past(query.asOf);
  const record = noteRecord(query, existingNote(await notesAt(records, query, past), query.noteId));
  return past ? new PastRecord(record, past) : record;
});
