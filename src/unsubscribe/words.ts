/** What the page says. A translator adds another language. */
export type Words = {
  unsubscribe: { title: string; text: (organization: string) => string; button: string };
  unsubscribed: { title: string; text: (organization: string) => string; undo: string; button: string };
  /** Who has just taken it back. */
  subscribed: { title: string; text: (organization: string) => string };
  unknown: { title: string; text: string };
};

export const WORDS: Record<string, Words> = {
  en: {
    unsubscribe: {
      title: 'Unsubscribe',
      text: (organization) => `Do you want no more e-mail from ${organization}?`,
      button: 'Unsubscribe',
    },
    unsubscribed: {
      title: 'You are unsubscribed',
      text: (organization) => `You receive no more e-mail from ${organization}.`,
      undo: 'Was this a mistake?',
      button: 'Subscribe again',
    },
    subscribed: {
      title: 'You are subscribed again',
      text: (organization) => `You receive e-mail from ${organization} again.`,
    },
    unknown: {
      title: 'This link does not work',
      text: 'It may be incomplete. Open the link in the e-mail again, or answer that e-mail and ask to be unsubscribed.',
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
      undo: 'War das ein Versehen?',
      button: 'Wieder anmelden',
    },
    subscribed: {
      title: 'Sie sind wieder angemeldet',
      text: (organization) => `Sie erhalten wieder E-Mails von ${organization}.`,
    },
    unknown: {
      title: 'Dieser Link funktioniert nicht',
      text: 'Vielleicht ist er unvollständig. Öffnen Sie den Link in der E-Mail noch einmal, oder antworten Sie auf die E-Mail und bitten Sie um Abmeldung.',
    },
  },
  fr: {
    unsubscribe: {
      title: 'Se désabonner',
      text: (organization) => `Ne souhaitez-vous plus recevoir d’e-mails de ${organization} ?`,
      button: 'Se désabonner',
    },
    unsubscribed: {
      title: 'Vous êtes désabonné',
      text: (organization) => `Vous ne recevez plus d’e-mails de ${organization}.`,
      undo: 'Était-ce une erreur ?',
      button: 'Se réabonner',
    },
    subscribed: {
      title: 'Vous êtes de nouveau abonné',
      text: (organization) => `Vous recevrez de nouveau les e-mails de ${organization}.`,
    },
    unknown: {
      title: 'Ce lien ne fonctionne pas',
      text: 'Il est peut-être incomplet. Ouvrez de nouveau le lien de l’e-mail, ou répondez à cet e-mail en demandant votre désabonnement.',
    },
  },
  es: {
    unsubscribe: {
      title: 'Darse de baja',
      text: (organization) => `¿No desea recibir más correos de ${organization}?`,
      button: 'Darse de baja',
    },
    unsubscribed: {
      title: 'Se ha dado de baja',
      text: (organization) => `Ya no recibe correos de ${organization}.`,
      undo: '¿Ha sido un error?',
      button: 'Volver a suscribirse',
    },
    subscribed: {
      title: 'Se ha suscrito de nuevo',
      text: (organization) => `Vuelve a recibir correos de ${organization}.`,
    },
    unknown: {
      title: 'Este enlace no funciona',
      text: 'Puede que esté incompleto. Abra de nuevo el enlace del correo, o responda a ese correo y pida la baja.',
    },
  },
};
