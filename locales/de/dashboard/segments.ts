import { counted } from '#libs/pages';
import { type segments as en } from '../../en/dashboard/segments.js';

export const segments: typeof en = {
  title: 'Segmente',
  text: 'Speichern Sie eine Suche nach Kontakten. Ein Segment enthält immer alle, auf die es gerade zutrifft.',
  none: {
    title: 'Noch keine Segmente',
    text: 'Legen Sie ein Segment an, zum Beispiel alle Mitglieder in einem Ort ohne Telefonnummer.',
  },
  search: 'Name',
  add: 'Neues Segment',
  new: { title: 'Neues Segment', button: 'Segment anlegen' },
  edit: { title: (name: string) => `„${name}“ bearbeiten`, link: 'Bearbeiten', button: 'Speichern' },
  delete: {
    link: 'Löschen',
    title: (name: string) => `„${name}“ löschen?`,
    text: 'Nur das Segment wird gelöscht. Die Kontakte bleiben erhalten.',
    button: (name: string) => `„${name}“ löschen`,
  },
  people: {
    title: 'Kontakte in diesem Segment',
    count: (contacts: number) =>
      counted('de-DE', contacts, 'Kontakt gehört zurzeit dazu.', 'Kontakte gehören zurzeit dazu.'),
    more: (most: number) =>
      counted('de-DE', most, 'Kontakt oder mehr gehören dazu.', 'Kontakte oder mehr gehören zurzeit dazu.'),
    newest: 'Die neuesten Kontakte in diesem Segment',
    all: 'In den Kontakten ansehen',
  },
  conditions: 'Bedingungen',
  match: {
    label: 'Wer gehört zu diesem Segment?',
    all: 'Kontakte, auf die alle Bedingungen zutreffen',
    any: 'Kontakte, auf die mindestens eine Bedingung zutrifft',
  },
  hint: 'Geben Sie einen Text, ein Datum wie 2026-05-31, eine Zahl von Tagen oder den Namen einer Liste, eines Tags, einer Petition oder einer E-Mail ein. „Abonniert“ und „ist ausgefüllt“ brauchen keinen Wert. Für weitere Zeilen speichern Sie und bearbeiten das Segment noch einmal.',
  complex: 'Dieses Segment wurde über die API angelegt. Seine Bedingungen lassen sich nur dort ändern:',
  row: {
    title: (number: number) => `Bedingung ${number}`,
    subject: 'Feld',
    none: 'Keine Bedingung',
    op: 'Vergleich',
    value: 'Wert',
  },
  ops: {
    is: 'ist',
    isNot: 'ist nicht',
    contains: 'enthält',
    notContains: 'enthält nicht',
    startsWith: 'beginnt mit',
    isSet: 'ist ausgefüllt',
    isNotSet: 'ist nicht ausgefüllt',
    atLeast: 'ist am oder nach dem',
    atMost: 'ist am oder vor dem',
    between: 'liegt zwischen',
    inLast: 'liegt in den letzten (Tagen)',
  },
  subjects: {
    subscribed: 'Abonniert',
    createdAt: 'Hinzugefügt am',
    updatedAt: 'Zuletzt geändert am',
    list: 'Liste',
    tag: 'Tag',
    signed: 'Unterschriebene Petition',
    received: 'Erhaltene E-Mail',
  },
  described: {
    all: 'Alle diese Bedingungen:',
    any: 'Mindestens eine dieser Bedingungen:',
    not: 'Nicht:',
    deleted: 'ein gelöschter Eintrag',
    quoted: (text: string) => `„${text}“`,
    days: (days: number) => counted('de-DE', days, 'Tag', 'Tage'),
    inLast: (days: number) => `in den letzten ${counted('de-DE', days, 'Tag', 'Tagen')}`,
    between: (from: string, to: string) => `${from} und ${to}`,
  },
  done: {
    created: 'Segment angelegt.',
    changed: 'Segment gespeichert.',
    deleted: 'Segment gelöscht. Die Kontakte bleiben erhalten.',
  },
};
