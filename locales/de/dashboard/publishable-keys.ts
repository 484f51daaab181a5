import { type publishableKeys as en } from '../../en/dashboard/publishable-keys.js';

export const publishableKeys: typeof en = {
  title: 'Website-Schlüssel',
  text: 'Mit einem Website-Schlüssel nehmen Formulare auf Ihrer eigenen Website Unterschriften und Anmeldungen entgegen. Er ist nicht geheim.',
  none: {
    title: 'Noch keine Website-Schlüssel',
    text: 'Legen Sie für jede Website mit einem eigenen Formular einen an. Wenn Sie dort unser Formular einbetten, brauchen Sie keinen.',
  },
  add: 'Website-Schlüssel anlegen',
  create: 'Website-Schlüssel anlegen',
  origins: 'Zugelassene Websites',
  originsHint:
    'Eine Adresse pro Zeile, zum Beispiel https://www.example.org. Nur dort funktioniert der Schlüssel.',
  key: 'Website-Schlüssel',
  use: 'Auf Ihrer Website verwenden',
  revoking: {
    title: (name) => `„${name}“ widerrufen?`,
    text: 'Formulare mit diesem Schlüssel funktionieren innerhalb einer Sekunde nicht mehr. Sie können das nicht rückgängig machen.',
    button: (name) => `„${name}“ widerrufen`,
  },
  done: {
    created: 'Website-Schlüssel angelegt.',
    changed: 'Website-Schlüssel gespeichert.',
    revoked: 'Website-Schlüssel widerrufen.',
  },
};
