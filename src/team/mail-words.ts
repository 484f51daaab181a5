/** What the mails say that let people in; a translator adds another language. */
export type TeamMailWords = {
  invitation: {
    subject: (organization: string) => string;
    text: (organization: string) => string;
    button: string;
    deadline: (days: number) => string;
    ignore: string;
  };
  signIn: {
    subject: string;
    text: (host: string) => string;
    button: string;
    deadline: (minutes: number) => string;
    ignore: string;
  };
};

const WORDS: Record<string, TeamMailWords> = {
  en: {
    invitation: {
      subject: (organization) => `You are invited to ${organization}`,
      text: (organization) => `Hello,\n\nyou are invited to work on the campaigns of ${organization}.`,
      button: 'Accept the invitation',
      deadline: (days) => `The link works for ${days} days, and once.`,
      ignore: 'If you do not know what this is about, you need not do anything.',
    },
    signIn: {
      subject: 'Your link to sign in',
      text: (host) => `Hello,\n\nhere is your link to sign in at ${host}.`,
      button: 'Sign in',
      deadline: (minutes) => `The link works for ${minutes} minutes, and once.`,
      ignore:
        'If it was not you who asked for it, you need not do anything: without the link nobody gets in.',
    },
  },
  de: {
    invitation: {
      subject: (organization) => `Einladung zu ${organization}`,
      text: (organization) =>
        `Guten Tag,\n\nSie sind eingeladen, an den Kampagnen von ${organization} mitzuarbeiten.`,
      button: 'Einladung annehmen',
      deadline: (days) => `Der Link gilt ${days} Tage und funktioniert einmal.`,
      ignore: 'Wenn Sie nicht wissen, worum es geht, brauchen Sie nichts zu tun.',
    },
    signIn: {
      subject: 'Ihr Link zum Anmelden',
      text: (host) => `Guten Tag,\n\nhier ist Ihr Link, um sich bei ${host} anzumelden.`,
      button: 'Anmelden',
      deadline: (minutes) => `Der Link gilt ${minutes} Minuten und funktioniert einmal.`,
      ignore:
        'Wenn Sie ihn nicht angefordert haben, brauchen Sie nichts zu tun: Ohne den Link kommt niemand hinein.',
    },
  },
  fr: {
    invitation: {
      subject: (organization) => `Invitation à rejoindre ${organization}`,
      text: (organization) => `Bonjour,\n\nvous êtes invité·e à participer aux campagnes de ${organization}.`,
      button: 'Accepter l’invitation',
      deadline: (days) => `Le lien est valable ${days} jours, une seule fois.`,
      ignore: 'Si vous ne savez pas de quoi il s’agit, vous n’avez rien à faire.',
    },
    signIn: {
      subject: 'Votre lien de connexion',
      text: (host) => `Bonjour,\n\nvoici votre lien pour vous connecter à ${host}.`,
      button: 'Se connecter',
      deadline: (minutes) => `Le lien est valable ${minutes} minutes, une seule fois.`,
      ignore:
        'Si vous ne l’avez pas demandé, vous n’avez rien à faire : sans ce lien, personne ne peut entrer.',
    },
  },
  es: {
    invitation: {
      subject: (organization) => `Invitación a ${organization}`,
      text: (organization) => `Hola:\n\nLe invitan a trabajar en las campañas de ${organization}.`,
      button: 'Aceptar la invitación',
      deadline: (days) => `El enlace vale ${days} días y una sola vez.`,
      ignore: 'Si no sabe de qué se trata, no tiene que hacer nada.',
    },
    signIn: {
      subject: 'Su enlace para entrar',
      text: (host) => `Hola:\n\nEste es su enlace para entrar en ${host}.`,
      button: 'Entrar',
      deadline: (minutes) => `El enlace vale ${minutes} minutos y una sola vez.`,
      ignore: 'Si no lo ha pedido usted, no tiene que hacer nada: sin el enlace no entra nadie.',
    },
  },
};

export const MAIL_LANGUAGES = Object.keys(WORDS);

/** In that language, or in English. @returns which it is. */
export function mailWordsIn(language: string): { language: string; words: TeamMailWords } {
  const words = WORDS[language];
  return words ? { language, words } : { language: 'en', words: WORDS.en! };
}
