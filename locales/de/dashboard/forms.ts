import { type forms as en } from '../../en/dashboard/forms.js';

export const forms: typeof en = {
  title: 'Anmeldeformulare',
  text: 'Damit sich Menschen anmelden können, ohne eine Petition zu unterschreiben.',
  none: {
    title: 'Noch keine Anmeldeformulare',
    text: 'Legen Sie eines an, teilen Sie seine Seite oder betten Sie es in Ihre Website ein.',
  },
  add: 'Neues Anmeldeformular',
  submissions: 'Anmeldungen',
  overTime: 'Anmeldungen im Zeitverlauf',
  pending: 'Noch nicht bestätigt',
  statuses: { PUBLISHED: 'Offen', PAUSED: 'Angehalten' },
  above: 'Text über dem Formular',
  titleHint: 'Wenn Sie nichts eingeben, erhält das Formular den Standardtitel.',
  adds: { list: 'Zu diesen Listen hinzufügen', tag: 'Diese Tags vergeben' },
  confirmation: 'Bestätigung',
  confirmations: {
    EMAIL: 'Bestätigung über einen Link in einer E‑Mail (empfohlen)',
    NONE: 'Anmeldungen gelten sofort',
  },
  deleting: {
    title: (name) => `„${name}“ löschen?`,
    text: 'Die Seite wird gelöscht. Daten unbestätigter Anmeldungen werden vernichtet. Die Kontakte bleiben erhalten.',
    button: (name) => `„${name}“ löschen`,
  },
  done: {
    created: 'Formular angelegt.',
    changed: 'Formular gespeichert.',
    deleted: 'Formular gelöscht.',
  },
};
