import {
  Nested,
  NestedMap,
  AnyJson,
  type FieldSchema,
  invalid,
  type Issue,
  recordSchema,
  Text,
  textOrNull,
} from '#libs/rpc';
import { type RecordReader } from '#libs/commands';
import { type Json } from '#libs/event-store';
import { senderOf } from '../organizations/index.js';
import {
  AfterSigningInput,
  readThankYou,
  ThankYouInput,
  ThankYouMailInput,
  afterSigningSchema,
  thankYouSchema,
} from './after-signing.js';
import { MAX_CONSENT, MAX_CONTENT_BYTES } from './petition-fields.js';
import { languageTag, LONGEST_TAG } from './petition-language.js';
import { mergedTranslations, type PetitionFields, type Translation } from './petition.js';

/** All other official languages of the European Union, and some more. */
const MOST_TRANSLATIONS = 30;
/** All translations of a petition as JSON. Its record contains them, also in lists. */
const MOST_BYTES = 256 * 1024;

/** The field of an operation that uses the texts of a petition in one language. */
export function TranslationLanguage(): PropertyDecorator {
  return Text({
    max: LONGEST_TAG,
    optional: true,
    example: 'de',
    description: 'The language of one of its translations. Default: its own.',
  });
}

class TranslationInput {
  @Text({ max: 200, example: 'Rettet den Fluss' })
  title!: string;

  @Text({ max: 500, optional: true, nullable: true })
  target?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true })
  description?: string | null;

  @Text({ max: 10_000, optional: true, nullable: true })
  ask?: string | null;

  @AnyJson({ optional: true, maxBytes: MAX_CONTENT_BYTES, description: 'As `content` of the petition.' })
  content?: Json;

  @Text({ max: 10_000, optional: true, nullable: true, description: 'As `outcomeText` of the petition.' })
  outcomeText?: string | null;

  @Text({
    max: MAX_CONSENT,
    optional: true,
    nullable: true,
    description:
      'As `form.consent.text`. Consent is recorded with the text that the signer saw, and its language.',
  })
  consent?: string | null;

  @Nested(() => ThankYouInput, { optional: true, nullable: true })
  thankYou?: ThankYouInput | null;

  @Nested(() => ThankYouMailInput, {
    optional: true,
    nullable: true,
    description: 'Only sent if the petition has a `thankYouMail`.',
  })
  thankYouMail?: ThankYouMailInput | null;
}

/** The fields of a petition, all optional. */
export abstract class PetitionInput extends AfterSigningInput {
  @Text({
    max: LONGEST_TAG,
    optional: true,
    nullable: true,
    example: 'en',
    description:
      'The language of its texts, as a BCP 47 tag. null: the organization’s language. A petition with translations keeps its ' +
      'language if the organization’s changes. If the server has no texts of its own in a language, the page shows them in the ' +
      'organization’s.',
  })
  language?: string | null;

  @NestedMap(() => TranslationInput, {
    max: MOST_TRANSLATIONS + 1,
    removable: true,
    optional: true,
    example: { de: { title: 'Rettet den Fluss' } },
    description:
      'Its texts in other languages, by BCP 47 tag, such as `de` or `pt-BR`. The page chooses by the visitor’s browser and ' +
      'offers all of them; signatures are counted together. Texts that you leave out are shown in the petition’s own language. ' +
      `Only the languages you send change, each as a whole; null deletes one. At most ${MOST_TRANSLATIONS} languages and ` +
      `${MOST_BYTES / 1024} KiB.`,
  })
  translations?: { [language: string]: TranslationInput | null };
}

const optional = ({ type: _, ...schema }: FieldSchema): FieldSchema => ({ ...schema, type: 'object' });

/** The fields of a petition about its languages. */
export const languageSchema = {
  language: {
    ...textOrNull,
    description: 'The language of its texts, as a BCP 47 tag; null: the organization’s language.',
  },
  translations: {
    type: 'object',
    additionalProperties: {
      ...recordSchema({
        title: { type: 'string' },
        target: { type: 'string' },
        description: { type: 'string' },
        ask: { type: 'string' },
        content: { description: 'Any JSON.' },
        outcomeText: { type: 'string' },
        consent: { type: 'string' },
        thankYou: optional(thankYouSchema),
        thankYouMail: optional(afterSigningSchema.thankYouMail),
      }),
      required: ['title'],
    },
    description:
      'Its texts in other languages, by BCP 47 tag. Texts that are left out are shown in the petition’s own language.',
  } satisfies FieldSchema,
};

type Languages = Pick<PetitionFields, 'language' | 'translations'>;
type Given = Pick<PetitionInput, 'language' | 'translations'>;
/** null: deleted. */
type Changes = { [language: string]: Translation | null };

/** The organization's language; undefined if the request changes no language. */
export async function presetFor(
  records: RecordReader,
  { organizationId, language, translations }: PetitionInput,
): Promise<string | undefined> {
  if (language === undefined && translations === undefined) return undefined;
  return (await senderOf(records, organizationId)).language;
}

/**
 * The languages that a request changes. A petition keeps its language once it has translations, so that a new language of the
 * organization does not change what its texts are written in.
 *
 * @param preset from {@link presetFor}.
 * @throws RpcError BAD_REQUEST
 */
export function readLanguages(
  before: Languages,
  given: Given,
  preset: string | undefined,
): { language?: string | null; translations?: Changes } {
  if (preset === undefined) return {};
  const translations = readTranslations(given.translations ?? {});
  const after = mergedTranslations(before.translations, translations);
  const language = given.language === undefined ? before.language : tagIn(given.language, 'language');
  const count = Object.keys(after).length;
  if (count === 0) return { language, translations };
  const own = language ?? preset;
  if (Object.hasOwn(after, own)) {
    throw Object.hasOwn(translations, own)
      ? wrong(
          `translations.${own}`,
          `is the petition’s own language: change its fields, or send another \`language\``,
        )
      : wrong('language', `is the language of a translation: delete translations.${own} first`);
  }
  if (count > MOST_TRANSLATIONS)
    throw wrong('translations', `must have at most ${MOST_TRANSLATIONS} languages`);
  if (Buffer.byteLength(JSON.stringify(after)) > MOST_BYTES)
    throw wrong(
      'translations',
      `must have at most ${MOST_BYTES / 1024} KiB of JSON in all languages together`,
    );
  return { language: own, translations };
}

function readTranslations(given: NonNullable<Given['translations']>): Changes {
  const read: Changes = {};
  for (const [named, texts] of Object.entries(given)) {
    const path = `translations.${named.slice(0, LONGEST_TAG)}`;
    const tag = tagIn(named, path)!;
    if (Object.hasOwn(read, tag)) throw wrong(path, `is the same language as ${tag}, which you also sent`);
    read[tag] = texts && readTexts(texts, `${path}.`);
  }
  return read;
}

function readTexts({ thankYou, thankYouMail, ...plain }: TranslationInput, at: string): Translation {
  const texts = {
    ...plain,
    thankYou: thankYou ? readThankYou(thankYou, `${at}thankYou.`) : null,
    thankYouMail: thankYouMail ? { subject: thankYouMail.subject, content: thankYouMail.content } : null,
  };
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text != null));
}

function tagIn(text: string | null, path: string): string | null {
  if (text === null) return null;
  const tag = languageTag(text);
  if (tag === undefined) throw wrong(path, 'must be a language tag (BCP 47), such as de, pt-BR or zh-Hant');
  return tag;
}

function wrong(path: string, message: string) {
  const issues: Issue[] = [{ path, message }];
  return invalid(issues);
}
