import { lists } from './lists.js';

export const tags: typeof lists = {
  ...lists,
  title: 'Tags',
  text: 'Halten Sie fest, was Kontakte gemeinsam haben, zum Beispiel: spendet, Mitglied, spricht Türkisch.',
  none: { title: 'Noch keine Tags', text: 'Legen Sie ein Tag an und weisen Sie es dann Kontakten zu.' },
  add: 'Neues Tag',
  new: { title: 'Neues Tag', button: 'Tag anlegen' },
  deleting: { ...lists.deleting, text: 'Nur das Tag wird gelöscht. Die Kontakte bleiben erhalten.' },
  members: 'Kontakte mit diesem Tag',
  addressLabel: 'Einem Kontakt per E‑Mail-Adresse zuweisen',
  addButton: 'Tag zuweisen',
  removeName: (name) => `Tag von ${name} entfernen`,
  removeText: 'Der Kontakt und das Tag bleiben erhalten.',
  sameName:
    'Ein Tag mit diesem Namen gibt es bereits. Um den Namen trotzdem zu verwenden, senden Sie das Formular noch einmal ab.',
  done: {
    created: 'Tag angelegt.',
    changed: 'Tag gespeichert.',
    deleted: 'Tag gelöscht. Die Kontakte bleiben erhalten.',
    added: 'Tag dem Kontakt zugewiesen.',
    removed: 'Tag vom Kontakt entfernt.',
  },
};
