export { type NoteRecord } from './contact-notes.js';
export { CreateNote, LONGEST_NOTE } from './create-note.js';
export { MAX_NOTES, notesWrite } from './note.js';
export { NotesModule } from './notes.module.js';
