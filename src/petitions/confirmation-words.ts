import { writeLetter } from '#libs/mail';
import { DAYS_TO_CONFIRM } from './signature-request.js';

/** Texts of the confirmation email. To add a language, add an entry. */
export type ConfirmationWords = {
  subject: (petition: string) => string;
  greeting: (firstName: string | null) => string;
  ask: (petition: string, organization: string) => string;
  button: string;
  deadline: (days: number) => string;
  ignore: string;
  already: { subject: (petition: string) => string; text: (petition: string) => string; button: string };
};

const WORDS: Record<string, ConfirmationWords> = {
  en: {
    subject: (petition) => `Confirm your signature: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Hello,' : `Hello ${firstName},`),
    ask: (petition, organization) =>
      `You signed “${petition}” by ${organization}. Your signature counts once you confirm it:`,
    button: 'Confirm my signature',
    deadline: (days) =>
      `The link expires in ${days} days. If you don’t confirm by then, your details are deleted.`,
    ignore:
      'If you didn’t sign this petition, you can ignore this email. Nothing is kept unless you confirm.',
    already: {
      subject: (petition) => `You have already signed: ${petition}`,
      text: (petition) =>
        `Someone, probably you, just signed “${petition}” again with this email address. Your signature already counts, so you don’t need to do anything.`,
      button: 'View the petition',
    },
  },
  de: {
    subject: (petition) => `Bitte bestätigen Sie Ihre Unterschrift: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Guten Tag,' : `Guten Tag ${firstName},`),
    ask: (petition, organization) =>
      `Sie haben die Petition „${petition}“ von ${organization} unterschrieben. Bitte bestätigen Sie Ihre Unterschrift, damit sie zählt:`,
    button: 'Unterschrift bestätigen',
    deadline: (days) =>
      `Der Link ist ${days} Tage gültig. Wenn Sie bis dahin nicht bestätigen, werden Ihre Daten gelöscht.`,
    ignore:
      'Wenn Sie nicht unterschrieben haben, können Sie diese E-Mail ignorieren. Ohne Ihre Bestätigung wird nichts gespeichert.',
    already: {
      subject: (petition) => `Sie haben bereits unterschrieben: ${petition}`,
      text: (petition) =>
        `Jemand, vermutlich Sie selbst, hat die Petition „${petition}“ gerade noch einmal mit dieser Adresse unterschrieben. Ihre Unterschrift zählt bereits. Sie müssen nichts weiter tun.`,
      button: 'Petition ansehen',
    },
  },
  fr: {
    subject: (petition) => `Confirmez votre signature : ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Bonjour,' : `Bonjour ${firstName},`),
    ask: (petition, organization) =>
      `Vous avez signé la pétition « ${petition} » de ${organization}. Pour que votre signature compte, confirmez-la :`,
    button: 'Confirmer ma signature',
    deadline: (days) =>
      `Le lien est valable ${days} jours. Sans confirmation de votre part dans ce délai, vos données seront supprimées.`,
    ignore:
      'Si vous n’avez pas signé cette pétition, ignorez cet e-mail. Sans votre confirmation, rien n’est conservé.',
    already: {
      subject: (petition) => `Vous avez déjà signé : ${petition}`,
      text: (petition) =>
        `Quelqu’un, sans doute vous, vient de signer à nouveau la pétition « ${petition} » avec cette adresse. Votre signature compte déjà. Vous n’avez rien d’autre à faire.`,
      button: 'Voir la pétition',
    },
  },
  es: {
    subject: (petition) => `Confirme su firma: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Hola:' : `Hola, ${firstName}:`),
    ask: (petition, organization) =>
      `Ha firmado la petición «${petition}» de ${organization}. Confirme su firma para que cuente:`,
    button: 'Confirmar mi firma',
    deadline: (days) =>
      `El enlace es válido durante ${days} días. Si no confirma su firma en ese plazo, sus datos se eliminarán.`,
    ignore: 'Si no ha firmado esta petición, ignore este correo. Sin su confirmación no se guarda nada.',
    already: {
      subject: (petition) => `Ya ha firmado: ${petition}`,
      text: (petition) =>
        `Alguien, probablemente usted, acaba de firmar de nuevo la petición «${petition}» con esta dirección. Su firma ya cuenta. No tiene que hacer nada más.`,
      button: 'Ver la petición',
    },
  },
};

/** In the organization's language. */
export function wordsOf(language: string): ConfirmationWords {
  return WORDS[language] ?? WORDS.en!;
}

type Parts = {
  firstName: string | null;
  petition: string;
  organization: string;
  postalAddress: string | null;
  confirmUrl: string | null;
  petitionUrl: string;
};

/** The text and HTML parts of the email. */
export function writeMail(
  words: ConfirmationWords,
  language: string,
  mail: Parts,
): ReturnType<typeof writeLetter> {
  const { url, button, ...parts } = partsOf(words, mail);
  const used = language in WORDS ? language : 'en';
  return writeLetter({ ...parts, language: used, button: { url, text: button }, foot: footOf(mail) });
}

function partsOf(
  words: ConfirmationWords,
  { firstName, petition, organization, confirmUrl, petitionUrl }: Parts,
) {
  const greeting = words.greeting(firstName);
  if (confirmUrl === null) {
    const { text, button } = words.already;
    return { paragraphs: [greeting, text(petition)], url: petitionUrl, button, after: [] };
  }
  const paragraphs = [greeting, words.ask(petition, organization)];
  const after = [words.deadline(DAYS_TO_CONFIRM), words.ignore];
  return { paragraphs, url: confirmUrl, button: words.button, after };
}

function footOf({ organization, postalAddress }: Parts): string[] {
  return [organization, ...(postalAddress ?? '').split(/\r?\n/)].filter((line) => line !== '');
}
