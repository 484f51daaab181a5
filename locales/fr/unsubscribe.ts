import { type UnsubscribeWords } from '../words.js';

export const unsubscribe: UnsubscribeWords = {
  unsubscribe: {
    title: 'Se désabonner',
    text: (organization) => `Souhaitez-vous ne plus recevoir d’e-mails de ${organization} ?`,
    button: 'Se désabonner',
  },
  unsubscribed: {
    title: 'Votre désabonnement est confirmé',
    text: (organization) => `Vous ne recevrez plus d’e-mails de ${organization}.`,
    undo: 'Désabonnement par erreur ?',
    button: 'Se réabonner',
  },
  subscribed: {
    title: 'Votre abonnement est rétabli',
    text: (organization) => `Vous recevrez à nouveau les e-mails de ${organization}.`,
  },
  unknown: {
    title: 'Ce lien ne fonctionne pas',
    text: 'Il est peut-être incomplet. Ouvrez à nouveau le lien reçu par e-mail ou répondez à cet e-mail pour demander votre désabonnement.',
  },
};
