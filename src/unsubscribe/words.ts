/** Texts of the page. To add a language, add an entry. */
export type Words = {
  unsubscribe: { title: string; text: (organization: string) => string; button: string };
  unsubscribed: { title: string; text: (organization: string) => string; undo: string; button: string };
  /** After they subscribed again. */
  subscribed: { title: string; text: (organization: string) => string };
  unknown: { title: string; text: string };
};

export const WORDS: Record<string, Words> = {
  en: {
    unsubscribe: {
      title: 'Unsubscribe',
      text: (organization) => `Do you want to stop receiving emails from ${organization}?`,
      button: 'Unsubscribe',
    },
    unsubscribed: {
      title: 'You’ve been unsubscribed',
      text: (organization) => `You’ll no longer receive emails from ${organization}.`,
      undo: 'Unsubscribed by mistake?',
      button: 'Subscribe again',
    },
    subscribed: {
      title: 'You’re subscribed again',
      text: (organization) => `You’ll receive emails from ${organization} again.`,
    },
    unknown: {
      title: 'This link doesn’t work',
      text: 'It may be incomplete. Open the link in the email again, or reply to the email and ask to be unsubscribed.',
    },
  },
  de: {
    unsubscribe: {
      title: 'Abmelden',
      text: (organization) => `Möchten Sie keine E-Mails mehr von ${organization} erhalten?`,
      button: 'Abmelden',
    },
    unsubscribed: {
      title: 'Sie sind abgemeldet',
      text: (organization) => `Sie erhalten keine E-Mails mehr von ${organization}.`,
      undo: 'Versehentlich abgemeldet?',
      button: 'Wieder anmelden',
    },
    subscribed: {
      title: 'Sie sind wieder angemeldet',
      text: (organization) => `Sie erhalten wieder E-Mails von ${organization}.`,
    },
    unknown: {
      title: 'Dieser Link funktioniert nicht',
      text: 'Möglicherweise ist er unvollständig. Öffnen Sie den Link in der E-Mail noch einmal oder antworten Sie auf die E-Mail und bitten Sie um Abmeldung.',
    },
  },
  fr: {
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
  },
  es: {
    unsubscribe: {
      title: 'Darse de baja',
      text: (organization) => `¿Desea dejar de recibir correos de ${organization}?`,
      button: 'Darse de baja',
    },
    unsubscribed: {
      title: 'Se ha dado de baja',
      text: (organization) => `Ya no recibirá correos de ${organization}.`,
      undo: '¿Se ha dado de baja por error?',
      button: 'Volver a suscribirse',
    },
    subscribed: {
      title: 'Se ha vuelto a suscribir',
      text: (organization) => `Volverá a recibir correos de ${organization}.`,
    },
    unknown: {
      title: 'Este enlace no funciona',
      text: 'Puede que esté incompleto. Vuelva a abrir el enlace del correo o responda a ese correo para solicitar la baja.',
    },
  },
};
