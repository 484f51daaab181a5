import { type EmailWords, type Locale } from '#locales';
import { type Brand, writeLetter } from '#libs/mail';
import { DAYS_TO_CONFIRM } from './request.js';

type Parts = {
  about: 'signature' | 'signUp';
  firstName: string | null;
  title: string;
  brand: Brand;
  postalAddress: string | null;
  confirmUrl: string | null;
  url: string;
};

export function writeMail({ language, emails }: Locale, mail: Parts): ReturnType<typeof writeLetter> {
  const { url, button, ...parts } = partsOf(emails, mail);
  return writeLetter({
    ...parts,
    language,
    brand: mail.brand,
    button: { url, text: button },
    foot: footOf(mail),
  });
}

function partsOf(
  { confirmation, signUp }: EmailWords,
  { about, firstName, title, brand, confirmUrl, url }: Parts,
) {
  const words = about === 'signUp' ? { ...confirmation, ...signUp } : confirmation;
  const greeting = words.greeting(firstName);
  if (confirmUrl === null) {
    const { subject, text, button } = words.already;
    const paragraphs = [greeting, text(title)];
    return { subject: subject(title), paragraphs, url, button, after: [] };
  }
  const paragraphs = [greeting, words.ask(title, brand.name)];
  const after = [words.deadline(DAYS_TO_CONFIRM), words.ignore];
  return { subject: words.subject(title), paragraphs, url: confirmUrl, button: words.button, after };
}

function footOf({ brand, postalAddress }: Parts): string[] {
  return [brand.name, ...(postalAddress ?? '').split(/\r?\n/)].filter((line) => line !== '');
}
