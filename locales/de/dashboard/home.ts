import { counted } from '#libs/pages';
import { type home as en } from '../../en/dashboard/home.js';

export const home: typeof en = {
  open: 'Offene Petitionen',
  noneOpen: 'Zurzeit ist keine Petition offen.',
  reached: 'Ziel erreicht. Zeit für ein höheres.',
  all: 'Alle anzeigen',
  newContacts: 'Neueste Kontakte',
  days: {
    title: 'Die letzten 30 Tage',
    counted: { signatures: 'Unterschriften', contacts: 'Neue Kontakte', unsubscribes: 'Abmeldungen' },
    lately: (many) => `${many} in den letzten 7 Tagen`,
    note: 'Importe zählen am Tag des Imports. Spätere Rücknahmen und Löschungen werden nicht abgezogen.',
  },
  lastEmails: 'Letzte E‑Mails',
  attention: {
    title: 'Zu erledigen',
    petition: 'Entwurf. Veröffentlichen Sie die Petition, um Unterschriften zu sammeln.',
    email: 'Entwurf. Die E‑Mail wurde noch nicht gesendet.',
    missed: (many) => `${many} Zustellungen sind fehlgeschlagen oder unklar. Versuchen Sie es erneut.`,
    suspicious: (n) =>
      `${counted('de-DE', n, 'verdächtige Unterschrift', 'verdächtige Unterschriften')} in den letzten 7 Tagen. Bitte prüfen.`,
    failing: 'Zustellungen an diesen Webhook schlagen fehl und werden wiederholt.',
    webhook: 'Nach wiederholten Fehlern deaktiviert.',
  },
  checklist: {
    title: 'Erste Schritte',
    done: '(erledigt)',
    colour: 'Farbe Ihrer Organisation wählen',
    sender: 'Absenderadresse für E‑Mails festlegen',
    contacts: 'Kontakte importieren',
    petition: 'Erste Petition anlegen',
  },
};
