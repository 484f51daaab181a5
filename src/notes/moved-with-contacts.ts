import { mergeWithContacts } from '../contacts/index.js';
import { contactNotes, moveNotes, notesIdOf, notesWrite } from './note.js';

mergeWithContacts(async ({ records }, organizationId, { survivorId, otherIds }) => {
  const idOf = new Map([survivorId, ...otherIds].map((contactId) => [contactId, notesIdOf(contactId)]));
  const loaded = await records.loadMany(contactNotes, organizationId, [...idOf.values()]);
  const notesOf = (contactId: string) => loaded.get(idOf.get(contactId)!)!;
  const events = otherIds.flatMap((otherId) => moveNotes(notesOf(otherId).state, otherId, survivorId));
  return {
    writes: events.length > 0 ? [notesWrite(survivorId, notesOf(survivorId).version, events)] : [],
    // Including streams that have not begun: a note added now would be lost.
    guards: otherIds.map((otherId) => ({ streamId: idOf.get(otherId)!, version: notesOf(otherId).version })),
  };
});
