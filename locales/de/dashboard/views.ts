import { type views as en } from '../../en/dashboard/views.js';

export const views: typeof en = {
  title: 'Ansichten',
  text: 'Eine Ansicht ist eine Liste mit den Filtern, der Sortierung und den Spalten, die Ihr Team öfter braucht.',
  none: {
    title: 'Noch keine Ansichten',
    text: 'Filtern Sie eine Liste, zum Beispiel die Kontakte, und wählen Sie dann „Ansicht speichern“.',
  },
  search: 'Name',
  add: 'Neue Ansicht',
  create: 'Ansicht speichern',
  all: 'Alle',
  save: 'Ansicht speichern',
  saveAsNew: 'Als neue Ansicht speichern',
  saveChanges: 'Änderungen speichern',
  manage: 'Umbenennen oder löschen',
  open: 'Öffnen',
  list: 'Liste',
  order: 'Sortiert nach',
  ascending: (field: string) => `${field} (aufsteigend)`,
  descending: (field: string) => `${field} (absteigend)`,
  gone: 'Gelöscht',
  more: 'Alle Ansichten',
  broken:
    'Ein Filter dieser Liste funktioniert nicht mehr, zum Beispiel weil die Liste oder das Tag gelöscht wurde. Entfernen Sie den Filter. Gehört er zu einer Ansicht, wählen Sie danach „Änderungen speichern“.',
  times: {
    createdAfter: 'Erstellt nach',
    createdBefore: 'Erstellt vor',
    updatedAfter: 'Geändert nach',
    updatedBefore: 'Geändert vor',
  },
  columns: { label: 'Spalten', button: 'Spalten anzeigen' },
  edit: { link: 'Bearbeiten', title: (name: string) => `„${name}“ bearbeiten` },
  deleting: {
    link: 'Löschen',
    title: (name: string) => `„${name}“ löschen?`,
    text: 'Nur die Ansicht wird gelöscht, für Ihr ganzes Team. An der Liste ändert sich nichts.',
    button: (name: string) => `„${name}“ löschen`,
  },
  done: { created: 'Ansicht gespeichert.', changed: 'Ansicht gespeichert.', deleted: 'Ansicht gelöscht.' },
};
