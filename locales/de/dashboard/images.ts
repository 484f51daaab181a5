import { type images as en } from '../../en/dashboard/images.js';

export const images: typeof en = {
  title: 'Bilder',
  text: 'Für Petitionen, Beiträge und Ihr Logo.',
  none: {
    title: 'Noch keine Bilder',
    text: 'Laden Sie eines hoch. Petitionen mit Bild werden öfter unterschrieben.',
  },
  search: 'Name',
  add: 'Bild hochladen',
  picture: 'Bild',
  size: 'Größe',
  address: 'Adresse, für E‑Mails und Ihre Website',
  file: 'Bilddatei',
  fileHint:
    'JPEG, PNG, WebP, AVIF oder GIF, höchstens 15 MB. Metadaten wie Aufnahmeort und Kamera werden entfernt.',
  name: 'Name',
  alt: 'Beschreibung',
  altHint:
    'Was das Bild zeigt, für Menschen, die es nicht sehen können. Bei reinen Schmuckbildern leer lassen.',
  upload: 'Hochladen',
  noFile: 'Wählen Sie ein Bild aus',
  edit: 'Bild speichern',
  delete: 'Löschen',
  deleting: {
    title: (name) => `„${name}“ löschen?`,
    text: 'Das Bild wird aus allen Petitionen und Beiträgen entfernt, die es zeigen, und aus Ihrer Organisation.',
    button: (name) => `„${name}“ überall löschen`,
  },
  choose: 'Bild',
  chooseHint: 'Eines der Bilder unter „Bilder“.',
  noImage: 'Kein Bild',
  present: 'Aktuelles Bild',
  done: {
    uploaded: 'Bild hochgeladen.',
    known: 'Dieses Bild war schon hochgeladen. Name und Beschreibung wurden aktualisiert.',
    changed: 'Bild gespeichert.',
    deleted: 'Bild gelöscht.',
  },
};
