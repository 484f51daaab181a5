import { type lists as en } from '../../en/dashboard/lists.js';

export const lists: typeof en = {
  title: 'Listen',
  text: 'Fassen Sie Kontakte zusammen, zum Beispiel Freiwillige, die Presse oder einen Ort.',
  none: {
    title: 'Noch keine Listen',
    text: 'Legen Sie eine Liste an und fügen Sie dann Kontakte hinzu.',
  },
  search: 'Name',
  add: 'Neue Liste',
  description: 'Beschreibung',
  contacts: 'Kontakte',
  new: { title: 'Neue Liste', button: 'Liste anlegen' },
  edit: { title: (name: string) => `„${name}“ bearbeiten`, link: 'Bearbeiten', button: 'Speichern' },
  deleting: {
    link: 'Löschen',
    title: (name: string) => `„${name}“ löschen?`,
    text: 'Nur die Liste wird gelöscht. Die Kontakte bleiben erhalten.',
    button: (name: string) => `„${name}“ löschen`,
  },
  members: 'Kontakte auf dieser Liste',
  noMembers: 'Noch keine Kontakte.',
  addressLabel: 'Kontakt per E‑Mail-Adresse hinzufügen',
  addressHint: 'Der Kontakt muss bereits vorhanden sein.',
  addButton: 'Zur Liste hinzufügen',
  remove: 'Entfernen',
  removeName: (name: string) => `${name} von dieser Liste entfernen`,
  removeText: 'Der Kontakt und die Liste bleiben erhalten.',
  sameName:
    'Eine Liste mit diesem Namen gibt es bereits. Um den Namen trotzdem zu verwenden, senden Sie das Formular noch einmal ab.',
  all: 'In den Kontakten ansehen',
  done: {
    created: 'Liste angelegt.',
    changed: 'Liste gespeichert.',
    deleted: 'Liste gelöscht. Die Kontakte bleiben erhalten.',
    added: 'Kontakt zur Liste hinzugefügt.',
    removed: 'Kontakt von der Liste entfernt.',
  },
};
