/** Texts of invitations and sign-in emails. To add a language, add an entry. */
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
      subject: (organization) => `You have been invited to join ${organization}`,
      text: (organization) => `Hello,\n\nYou have been invited to work on campaigns for ${organization}.`,
      button: 'Accept invitation',
      deadline: (days) => `This link expires in ${days} days and can only be used once.`,
      ignore: 'If you weren’t expecting this invitation, you can ignore this email.',
    },
    signIn: {
      subject: 'Your sign-in link',
      text: (host) => `Hello,\n\nHere is your link to sign in to ${host}.`,
      button: 'Sign in',
      deadline: (minutes) => `This link expires in ${minutes} minutes and can only be used once.`,
      ignore: 'If you didn’t request this link, you can ignore this email. No one can sign in without it.',
    },
  },
  de: {
    invitation: {
      subject: (organization) => `Sie wurden zu ${organization} eingeladen`,
      text: (organization) =>
        `Guten Tag,\n\nSie wurden eingeladen, an den Kampagnen von ${organization} mitzuarbeiten.`,
      button: 'Einladung annehmen',
      deadline: (days) => `Der Link ist ${days} Tage gültig und kann nur einmal verwendet werden.`,
      ignore: 'Wenn Sie keine Einladung erwartet haben, können Sie diese E-Mail ignorieren.',
    },
    signIn: {
      subject: 'Ihr Anmeldelink',
      text: (host) => `Guten Tag,\n\nmit diesem Link melden Sie sich bei ${host} an.`,
      button: 'Anmelden',
      deadline: (minutes) => `Der Link ist ${minutes} Minuten gültig und kann nur einmal verwendet werden.`,
      ignore:
        'Wenn Sie diesen Link nicht angefordert haben, können Sie diese E-Mail ignorieren. Ohne den Link kann sich niemand anmelden.',
    },
  },
  fr: {
    invitation: {
      subject: (organization) => `Invitation à rejoindre ${organization}`,
      text: (organization) => `Bonjour,\n\nVous êtes invité·e à participer aux campagnes de ${organization}.`,
      button: 'Accepter l’invitation',
      deadline: (days) => `Le lien est valable ${days} jours et ne peut être utilisé qu’une seule fois.`,
      ignore: 'Si vous n’attendiez pas cette invitation, ignorez cet e-mail.',
    },
    signIn: {
      subject: 'Votre lien de connexion',
      text: (host) => `Bonjour,\n\nVoici votre lien pour vous connecter à ${host}.`,
      button: 'Se connecter',
      deadline: (minutes) =>
        `Le lien est valable ${minutes} minutes et ne peut être utilisé qu’une seule fois.`,
      ignore:
        'Si vous n’avez pas demandé ce lien, ignorez cet e-mail. Sans ce lien, personne ne peut se connecter.',
    },
  },
  es: {
    invitation: {
      subject: (organization) => `Invitación para unirse a ${organization}`,
      text: (organization) =>
        `Hola:\n\nHa recibido una invitación para colaborar en las campañas de ${organization}.`,
      button: 'Aceptar invitación',
      deadline: (days) => `El enlace caduca en ${days} días y solo se puede usar una vez.`,
      ignore: 'Si no esperaba esta invitación, ignore este correo.',
    },
    signIn: {
      subject: 'Su enlace de acceso',
      text: (host) => `Hola:\n\nEste es su enlace para iniciar sesión en ${host}.`,
      button: 'Iniciar sesión',
      deadline: (minutes) => `El enlace caduca en ${minutes} minutos y solo se puede usar una vez.`,
      ignore: 'Si no ha solicitado este enlace, ignore este correo. Sin él, nadie puede iniciar sesión.',
    },
  },
};

export const MAIL_LANGUAGES = Object.keys(WORDS);

/** In the given language, or else in English. @returns the language used. */
export function mailWordsIn(language: string): { language: string; words: TeamMailWords } {
  const words = WORDS[language];
  return words ? { language, words } : { language: 'en', words: WORDS.en! };
}
