import { type PetitionFields, type Translation } from './petition.js';

/** Longer tags name no language (RFC 5646, 4.4.1). */
export const LONGEST_TAG = 35;

/** The canonical form of a language tag (BCP 47), such as `pt-BR`; undefined if it is not one. */
export function languageTag(text: string): string | undefined {
  if (text.length > LONGEST_TAG) return undefined;
  try {
    const locale = new Intl.Locale(text);
    const tag = locale.baseName;
    const isPlain = locale.toString() === tag;
    // Longer names are reserved, and `und` means unknown. Extensions and private subtags name no language.
    return isPlain && /^(?!und)[a-z]{2,3}(-|$)/.test(tag) ? tag : undefined;
  } catch {
    return undefined;
  }
}

type Texts = Pick<
  PetitionFields,
  'title' | 'target' | 'description' | 'ask' | 'content' | 'thankYou' | 'thankYouMail' | 'form'
> &
  Pick<PetitionFields, 'translations'>;

/**
 * A petition with its texts in a language. Texts that the translation leaves out are those of the petition.
 *
 * @param language of a translation. Without one, the petition stays as it is.
 */
export function inLanguage<Petition extends Texts>(petition: Petition, language: string): Petition {
  const { consent, ...texts } = translationIn(petition, language) ?? {};
  const { form } = petition;
  return {
    ...petition,
    ...texts,
    ...(consent === undefined ? {} : { form: { ...form, consent: { ...form.consent, text: consent } } }),
  };
}

/** Ends the address of a petition's page, to show it in a language. Empty if the petition has only one. */
export function languageQuery(
  { translations }: Pick<PetitionFields, 'translations'>,
  language: string | null,
): string {
  return language === null || Object.keys(translations).length === 0 ? '' : `?lang=${language}`;
}

export function translationIn(
  { translations }: Pick<PetitionFields, 'translations'>,
  language: string,
): Translation | undefined {
  return Object.hasOwn(translations, language) ? translations[language] : undefined;
}
