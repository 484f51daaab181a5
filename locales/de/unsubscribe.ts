import { type UnsubscribeWords } from '../words.js';

export const unsubscribe: UnsubscribeWords = {
  unsubscribe: {
    title: 'Abmelden',
    text: (organization) => `Möchten Sie keine E‑Mails mehr von ${organization} erhalten?`,
    button: 'Abmelden',
  },
  unsubscribed: {
    title: 'Sie sind abgemeldet',
    text: (organization) => `Sie erhalten keine E‑Mails mehr von ${organization}.`,
    undo: 'Versehentlich abgemeldet?',
    button: 'Wieder anmelden',
  },
  subscribed: {
    title: 'Sie sind wieder angemeldet',
    text: (organization) => `Sie erhalten wieder E‑Mails von ${organization}.`,
  },
  unknown: {
    title: 'Dieser Link funktioniert nicht',
    text: 'Möglicherweise ist er unvollständig. Öffnen Sie den Link in der E‑Mail noch einmal oder antworten Sie auf die E‑Mail und bitten Sie um Abmeldung.',
  },
};
