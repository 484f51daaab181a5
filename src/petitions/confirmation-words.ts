import { writeLetter } from '#libs/mail';
import { DAYS_TO_CONFIRM } from './signature-request.js';

/** What the mail says; a translator adds another language. */
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
    subject: (petition) => `Please confirm your signature: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Hello,' : `Hello ${firstName},`),
    ask: (petition, organization) =>
      `You have signed “${petition}” by ${organization}. Your signature counts once you have confirmed it:`,
    button: 'Confirm my signature',
    deadline: (days) => `The link works for ${days} days. After that, what you wrote is deleted.`,
    ignore: 'If it was not you, you need not do anything: without your confirmation nothing is kept.',
    already: {
      subject: (petition) => `You have already signed: ${petition}`,
      text: (petition) =>
        `Somebody, probably you, has just signed “${petition}” with this address. Your signature counts already, so there is nothing to do.`,
      button: 'See the petition',
    },
  },
  de: {
    subject: (petition) => `Bitte bestätigen Sie Ihre Unterschrift: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Guten Tag,' : `Guten Tag ${firstName},`),
    ask: (petition, organization) =>
      `Sie haben „${petition}“ von ${organization} unterschrieben. Ihre Unterschrift zählt, sobald Sie sie bestätigt haben:`,
    button: 'Unterschrift bestätigen',
    deadline: (days) => `Der Link gilt ${days} Tage. Danach wird gelöscht, was Sie geschrieben haben.`,
    ignore:
      'Wenn Sie das nicht waren, brauchen Sie nichts zu tun: Ohne Ihre Bestätigung wird nichts aufbewahrt.',
    already: {
      subject: (petition) => `Sie haben bereits unterschrieben: ${petition}`,
      text: (petition) =>
        `Jemand, vermutlich Sie selbst, hat gerade „${petition}“ mit dieser Adresse unterschrieben. Ihre Unterschrift zählt bereits, Sie brauchen nichts zu tun.`,
      button: 'Zur Petition',
    },
  },
  fr: {
    subject: (petition) => `Veuillez confirmer votre signature : ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Bonjour,' : `Bonjour ${firstName},`),
    ask: (petition, organization) =>
      `Vous avez signé « ${petition} » de ${organization}. Votre signature compte dès que vous l’avez confirmée :`,
    button: 'Confirmer ma signature',
    deadline: (days) => `Le lien est valable ${days} jours. Ensuite, ce que vous avez écrit est supprimé.`,
    ignore:
      'Si ce n’était pas vous, vous n’avez rien à faire : sans votre confirmation, rien n’est conservé.',
    already: {
      subject: (petition) => `Vous avez déjà signé : ${petition}`,
      text: (petition) =>
        `Quelqu’un, sans doute vous, vient de signer « ${petition} » avec cette adresse. Votre signature compte déjà, vous n’avez rien à faire.`,
      button: 'Voir la pétition',
    },
  },
  es: {
    subject: (petition) => `Confirme su firma: ${petition}`,
    greeting: (firstName) => (firstName === null ? 'Hola:' : `Hola, ${firstName}:`),
    ask: (petition, organization) =>
      `Ha firmado «${petition}», de ${organization}. Su firma cuenta en cuanto la confirme:`,
    button: 'Confirmar mi firma',
    deadline: (days) => `El enlace es válido durante ${days} días. Después se borra lo que escribió.`,
    ignore: 'Si no fue usted, no tiene que hacer nada: sin su confirmación no se guarda nada.',
    already: {
      subject: (petition) => `Ya ha firmado: ${petition}`,
      text: (petition) =>
        `Alguien, probablemente usted, acaba de firmar «${petition}» con esta dirección. Su firma ya cuenta, no tiene que hacer nada.`,
      button: 'Ver la petición',
    },
  },
};

/** In the organization's language. */
export function wordsOf(language: string): ConfirmationWords {
  return WORDS[language] ?? WORDS.en!;
}

type Written = {
  firstName: string | null;
  petition: string;
  organization: string;
  postalAddress: string | null;
  confirmUrl: string | null;
  petitionUrl: string;
};

/** The two parts of the mail. */
export function writeMail(
  words: ConfirmationWords,
  language: string,
  mail: Written,
): ReturnType<typeof writeLetter> {
  const { url, button, ...said } = partsOf(words, mail);
  const spoken = language in WORDS ? language : 'en';
  return writeLetter({ ...said, language: spoken, button: { url, text: button }, foot: footOf(mail) });
}

function partsOf(
  words: ConfirmationWords,
  { firstName, petition, organization, confirmUrl, petitionUrl }: Written,
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

function footOf({ organization, postalAddress }: Written): string[] {
  return [organization, ...(postalAddress ?? '').split(/\r?\n/)].filter((line) => line !== '');
}
