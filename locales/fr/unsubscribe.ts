import { type UnsubscribeWords } from '../words.js';

export const unsubscribe: UnsubscribeWords = {
  unsubscribe: {
    title: 'Se désabonner',
    text: (organization) => `Souhaitez-vous ne plus recevoir les e‑mails envoyés par ${organization} ?`,
    button: 'Se désabonner',
  },
  unsubscribed: {
    title: 'Votre désabonnement est confirmé',
    text: (organization) => `${organization} ne vous enverra plus d’e‑mails.`,
    undo: 'Désabonnement par erreur ?',
    button: 'Se réabonner',
  },
  subscribed: {
    title: 'Votre abonnement est rétabli',
    text: (organization) => `${organization} vous enverra à nouveau des e‑mails.`,
  },
  unknown: {
    title: 'Ce lien ne fonctionne pas',
    text: 'Il est peut-être incomplet. Ouvrez à nouveau le lien reçu par e‑mail ou répondez à cet e‑mail pour demander votre désabonnement.',
  },
};
