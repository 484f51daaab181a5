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
  notifications: {
    why: (organization) => `Vous recevez cet e‑mail car vous faites partie de l’équipe de ${organization}.`,
    off: 'Ne plus recevoir ce type d’e‑mail',
    settings: 'Choisir les e‑mails que vous recevez',
    firstSignature: {
      subject: (petition) => `Première signature : ${petition}`,
      text: (petition) => `« ${petition} » a reçu sa première signature.`,
      button: 'Voir la pétition',
    },
    goalReached: {
      subject: (petition) => `Objectif atteint : ${petition}`,
      text: ({ petition, goal, signatures }) =>
        `« ${petition} » a atteint son objectif. Signatures à ce jour : ${signatures} (objectif : ${goal}).`,
      button: 'Voir la pétition',
    },
    commentWaiting: {
      subject: (comments, count, petition) =>
        `${comments === 1 ? '1 commentaire à modérer' : `${count} commentaires à modérer`} : ${petition}`,
      text: (comments, count, petition) =>
        comments === 1
          ? `Une personne a laissé un commentaire en signant « ${petition} ». Il apparaîtra sur la page dès que vous l’aurez approuvé.`
          : `${count} commentaires sur « ${petition} » attendent votre approbation. Chacun apparaîtra sur la page dès que vous l’aurez approuvé.`,
      button: 'Modérer les commentaires',
    },
    broadcastFinished: {
      subject: (name) => `Envoi terminé : ${name}`,
      text: (name) => `L’envoi de votre e‑mail « ${name} » est terminé.`,
      sent: (people, count) => (people === 1 ? 'Envoyé à 1 personne' : `Envoyé à ${count} personnes`),
      failed: (people, count) =>
        people === 1 ? 'L’envoi a échoué pour 1 personne' : `L’envoi a échoué pour ${count} personnes`,
      inDoubt: (people, count) =>
        people === 1
          ? '1 personne ne l’a peut-être pas reçu'
          : `${count} personnes ne l’ont peut-être pas reçu`,
      skipped: (people, count) =>
        people === 1
          ? 'Non envoyé à 1 personne, par exemple parce qu’elle s’est désabonnée entre-temps'
          : `Non envoyé à ${count} personnes, par exemple parce qu’elles se sont désabonnées entre-temps`,
      hindered: {
        subject: (name) => `Non envoyé : ${name}`,
        text: (name) =>
          `L’envoi de votre e‑mail « ${name} » était programmé, mais il n’a pas pu avoir lieu. Sa page indique ce qui manque. Personne ne l’a reçu.`,
        button: 'Voir l’e‑mail',
      },
      button: 'Voir les résultats',
    },
    webhookDisabled: {
      subject: (organization) => `Webhook désactivé : ${organization}`,
      text: (url) =>
        `Ce webhook échoue depuis si longtemps qu’il a été désactivé :\n\n${url}\n\nAucun événement n’est perdu. Dès que le serveur de destination accepte à nouveau les requêtes, réactivez le webhook. L’envoi reprendra là où il s’est arrêté.`,
      button: 'Voir le webhook',
    },
    weeklySummary: {
      subject: (organization) => `Votre semaine : ${organization}`,
      text: (first, last) => `Voici ce qui s’est passé du ${first} au ${last}.`,
      figures: {
        signatures: (count) => `Nouvelles signatures : ${count}`,
        contacts: (count) => `Nouveaux contacts : ${count}`,
        unsubscribes: (count) => `Désabonnements : ${count}`,
      },
      petition: (title, added, counts) =>
        `« ${title} » : ${added === 1 ? '1 nouvelle signature' : `${counts.added} nouvelles signatures`} (${counts.signatures} sur ${counts.goal})`,
      broadcast: (name, people, count) =>
        `« ${name} » : envoyé à ${people === 1 ? '1 personne' : `${count} personnes`}`,
      comments: (comments, count) =>
        comments === 1
          ? '1 commentaire attend votre approbation.'
          : `${count} commentaires attendent votre approbation.`,
      button: 'Ouvrir le tableau de bord',
    },
  },
  broadcastFooter: {
    why: (organization) => `Vous recevez cet e‑mail car vous êtes en contact avec ${organization}.`,
    unsubscribe: 'Se désabonner',
  },
};
