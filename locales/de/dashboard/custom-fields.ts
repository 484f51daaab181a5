import { type customFields as en } from '../../en/dashboard/custom-fields.js';

export const customFields: typeof en = {
  title: 'Eigene Felder',
  text: 'Halten Sie fest, was Ihre Organisation über Kontakte wissen möchte, zum Beispiel die Schuhgröße oder den Ortsverband.',
  none: {
    title: 'Noch keine eigenen Felder',
    text: 'Legen Sie ein Feld an. Danach kann es bei jedem Kontakt ausgefüllt werden.',
  },
  add: 'Neues Feld',
  create: 'Feld anlegen',
  type: 'Art',
  types: {
    TEXT: { name: 'Text', hint: 'Bis zu 1.000 Zeichen' },
    NUMBER: { name: 'Zahl', hint: 'Lässt sich vergleichen, zum Beispiel „mindestens 5“' },
    DATE: { name: 'Datum', hint: 'Tag, Monat und Jahr' },
    BOOLEAN: { name: 'Ja oder nein', hint: 'Ein Kästchen zum Ankreuzen' },
    CHOICE: { name: 'Eine Option', hint: 'Genau eine der Optionen unten' },
    CHOICES: { name: 'Mehrere Optionen', hint: 'Beliebig viele der Optionen unten' },
  },
  options: 'Optionen',
  optionsHint: 'Eine pro Zeile. Sie können eine Option erst entfernen, wenn kein Kontakt sie mehr hat.',
  newOptionsHint: 'Eine pro Zeile. Nur für „Eine Option“ und „Mehrere Optionen“.',
  key: 'Schlüssel',
  keyHint: 'Der Schlüssel bezeichnet das Feld in der API, in E‑Mails und in Dateien. Er ändert sich nie.',
  edit: { link: 'Bearbeiten', title: (name: string) => `„${name}“ bearbeiten` },
  deleting: {
    link: 'Löschen',
    title: (name: string) => `„${name}“ löschen?`,
    text: 'Das Feld und seine Werte verschwinden aus allen Kontakten. Das lässt sich nicht rückgängig machen.',
    button: (name: string) => `„${name}“ löschen`,
  },
  done: {
    created: 'Feld angelegt.',
    changed: 'Feld gespeichert.',
    deleted: 'Feld gelöscht.',
  },
};
