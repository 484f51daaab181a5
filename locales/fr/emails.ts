import { type EmailWords } from '../words.js';

export const emails: EmailWords = {
  invitation: {
    subject: (organization) => `Invitation à rejoindre ${organization}`,
    text: (organization) => `Bonjour,\n\n${organization} vous invite à participer à ses campagnes.`,
    button: 'Accepter l’invitation',
    deadline: (days) => `Le lien est valable ${days} jours et ne peut être utilisé qu’une seule fois.`,
    ignore: 'Si vous n’attendiez pas cette invitation, ignorez cet e‑mail.',
  },
  signIn: {
    subject: 'Votre lien de connexion',
    text: (host) => `Bonjour,\n\nVoici votre lien pour vous connecter à ${host}.`,
    button: 'Se connecter',
    deadline: (minutes) =>
      `Le lien est valable ${minutes} minutes et ne peut être utilisé qu’une seule fois.`,
    ignore:
      'Si vous n’avez pas demandé ce lien, ignorez cet e‑mail. Sans ce lien, personne ne peut se connecter.',
  },
  confirmation: {
    subject: (petition) => `Confirmez votre signature : ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Bonjour,' : `Bonjour ${firstName},`),
    ask: (petition, organization) =>
      `Vous avez signé la pétition « ${petition} », lancée par ${organization}. Pour que votre signature compte, confirmez-la :`,
    button: 'Confirmer ma signature',
    deadline: (days) =>
      `Le lien est valable ${days} jours. Sans confirmation de votre part dans ce délai, vos données seront supprimées.`,
    ignore:
      'Si vous n’avez pas signé cette pétition, ignorez cet e‑mail. Sans votre confirmation, rien n’est conservé.',
    already: {
      subject: (petition) => `Vous avez déjà signé : ${petition}`,
      text: (petition) =>
        `Quelqu’un, sans doute vous, vient de signer à nouveau la pétition « ${petition} » avec cette adresse. Votre signature compte déjà. Vous n’avez rien d’autre à faire.`,
      button: 'Voir la pétition',
    },
  },
  signUp: {
    subject: (form) => `Confirmez votre inscription : ${form}`,
    ask: (form, organization) =>
      `Vous avez rempli le formulaire « ${form} », proposé par ${organization}. Votre inscription prendra effet dès que vous l’aurez confirmée :`,
    button: 'Confirmer mon inscription',
    ignore:
      'Si vous n’avez pas rempli ce formulaire, ignorez cet e‑mail. Sans votre confirmation, rien n’est conservé.',
  },
  disabledWebhook: {
    subject: (organization) => `Webhook désactivé : ${organization}`,
    text: ({ organization, since, url, id }) => `Bonjour,

Depuis le ${since}, aucun événement n’a pu être transmis à ce webhook (${organization}) :

${url}
(${id})

Le webhook a donc été désactivé. Aucun événement n’est perdu. Pour consulter les réponses du serveur de destination, appelez webhook.list-deliveries. Dès qu’il accepte à nouveau les requêtes, appelez webhook.resume-webhook. L’envoi reprend là où il s’est arrêté.
`,
  },
  broadcastFooter: {
    why: (organization) => `Vous recevez cet e‑mail car vous êtes en contact avec ${organization}.`,
    unsubscribe: 'Se désabonner',
  },
};
