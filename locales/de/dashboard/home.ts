import { type home as en } from '../../en/dashboard/home.js';

export const home: typeof en = {
  open: 'Offene Petitionen',
  noneOpen: 'Zurzeit ist keine Petition offen.',
  reached: 'Ziel erreicht. Zeit für ein höheres.',
  all: 'Alle anzeigen',
  newContacts: 'Neue Kontakte der letzten 7 Tage',
  lastEmails: 'Letzte E-Mails',
  attention: {
    title: 'Zu erledigen',
    petition: 'Entwurf. Veröffentlichen Sie die Petition, um Unterschriften zu sammeln.',
    email: 'Entwurf. Die E-Mail wurde noch nicht verschickt.',
    missed: (many) => `${many} Zustellungen sind fehlgeschlagen oder unklar. Versuchen Sie es erneut.`,
    webhook: 'Nach wiederholten Fehlern deaktiviert.',
  },
  checklist: {
    title: 'Erste Schritte',
    done: '(erledigt)',
    colour: 'Farbe Ihrer Organisation wählen',
    sender: 'Absenderadresse für E-Mails festlegen',
    contacts: 'Kontakte importieren',
    petition: 'Erste Petition anlegen',
  },
};
