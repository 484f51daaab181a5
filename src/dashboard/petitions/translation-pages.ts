import { html, type Html, languageName } from '#libs/pages';
import { invalid, noSuch } from '#libs/rpc';
import { languageTag } from '../../petitions/index.js';
import { type PageDefinition } from '../page.js';
import { type FormInput, type PageContext } from '../page-context.js';
import {
  AreaField,
  ButtonLink,
  type Choice,
  ConfirmForm,
  FormOf,
  SelectField,
  SectionOf,
  Table,
  TextField,
  TextForm,
} from '../parts.js';
import { type PetitionRecord, petitions, type TranslationRecord } from './petition.js';

/** Languages to choose from: those of most readers, and minority languages of Europe. The API accepts every language. */
const OFFERED = (
  'ar bg bn br bs ca co cs cy da de el en es et eu fa fi fo fr fur fy ga gd gl ha he hi hr hu hy id is it ja ka ko ku lb lt lv mk ' +
  'mt nb nl nn oc pl ps pt pt-BR rm ro rom ru se sk sl so sq sr sv sw ta th ti tr uk ur vi wo yo zh-Hans zh-Hant'
).split(' ');

/** The texts of a petition in other languages. */
export const translationPages: PageDefinition[] = [
  {
    ...petitions.page('translations', {
      needs: 'petition:write',
      title: ({ petitions }) => petitions.translating.title,
      content: async (context, petition) => {
        const { address, form, words } = context;
        const { translating, fields } = words.petitions;
        const { id, title, translations } = petition;
        const own = await ownLanguageOf(context, petition);
        const titleIn = (language: string, text: string) =>
          html`<span lang="${language}" dir="auto">${text}</span>`;
        const rows = Object.entries(translations).map(([language, texts]) => [
          html`<a href="${address.path(`petitions/${id}/translations/edit?language=${language}`)}">${languageName(language, words.locale)}</a>`,
          titleIn(language, texts.title),
          translating.done(...doneIn(context, petition, texts)),
        ]);
        const columns = [{ name: translating.language }, { name: fields.title }, { name: translating.texts }];
        const isOffered = (language: string) => language !== own && !Object.hasOwn(translations, language);
        const choices = [{ value: '', text: '–' }, ...choicesIn(words.locale, OFFERED.filter(isOffered))];
        const original = [languageName(own, words.locale), titleIn(own, title), translating.original];
        const field = SelectField(form, { name: 'language', label: translating.language, choices });
        return html`<p class="lead">${translating.text}</p>
          ${Table({ caption: translating.title, columns, rows: [original, ...rows] })}
          ${SectionOf(translating.add, TextForm(form, { fields: [field], button: translating.start }))}`;
      },
    }),
    act: async (context) => {
      const petition = await petitions.find(context);
      const { id } = petition;
      const typed = context.form.typed('language');
      if (typed === null) throw invalid([{ path: 'language', message: 'is required' }]);
      const { language } = await languageOf(context, petition, typed);
      return { to: `petitions/${id}/translations/edit?language=${language}` };
    },
  },
  {
    ...petitions.page('translations/edit', {
      needs: 'petition:write',
      back: ({ words, address }, { id }) => ({
        href: address.path(`petitions/${id}/translations`),
        text: words.petitions.translating.title,
      }),
      title: async ({ petitions }, petition, context) =>
        petitions.translating.into((await languageOf(context, petition)).name),
      content: async (context, petition) => {
        const { address, form, words } = context;
        const { translating, save, open } = words.petitions;
        const { id, url, status, translations } = petition;
        const { language } = await languageOf(context, petition);
        const texts = translations[language];
        const isPublic = texts && url !== null && status !== 'DRAFT';
        const fields = await fieldsOf(context, petition, language);
        return html`<p class="lead">${translating.hint}</p>
          ${FormOf(form, { fields, button: save, of: petition })}
          <p>${isPublic ? html`<a class="button plain" href="${new URL(url).pathname}?lang=${language}">${open}</a>` : null}
          ${texts ? ButtonLink(address, `petitions/${id}/translations/delete?language=${language}`, translating.delete, true) : null}</p>`;
      },
    }),
    act: async (context) => {
      const { form, api } = context;
      const petition = await petitions.find(context);
      const { language } = await languageOf(context, petition);
      form.requireSame(petition);
      const typed = typedIn(form, context, petition, language);
      await api.run('petition.update-petition', {
        petitionId: petition.id,
        translations: { [language]: { ...petition.translations[language], ...typed } },
      });
      return { to: `petitions/${petition.id}/translations`, done: 'petitions.changed' };
    },
  },
  {
    path: 'petitions/:petition/translations/delete',
    needs: 'petition:write',
    show: async (context) => {
      const { translating } = context.words.petitions;
      const petition = await petitions.find(context);
      const { language, name } = await languageOf(context, petition);
      if (!Object.hasOwn(petition.translations, language)) throw noSuch('translation');
      return context.view.page({
        section: 'petitions',
        title: translating.deleting.title(name),
        content: ConfirmForm(context, {
          text: translating.deleting.text,
          button: translating.delete,
          back: `petitions/${petition.id}/translations/edit?language=${language}`,
          isFinal: true,
        }),
      });
    },
    act: async (context) => {
      const petition = await petitions.find(context);
      const { language } = await languageOf(context, petition);
      const translations = { [language]: null };
      await context.api.run('petition.update-petition', { petitionId: petition.id, translations });
      return { to: `petitions/${petition.id}/translations`, done: 'petitions.changed' };
    },
  },
];

type Text = {
  name: keyof TranslationRecord | `${'thankYou' | 'thankYouMail'}.${string}`;
  label: string;
  own: string;
  isLong: boolean;
  max: number;
};

const MARKUP: { [name in Text['name']]?: 'page' | 'mail' } = {
  content: 'page',
  'thankYouMail.content': 'mail',
};

/** The texts that the petition has, so they can be translated. Text in another program's format cannot be edited here. */
function textsOf({ words }: PageContext, petition: PetitionRecord): Text[] {
  const { fields, form, thanks, translating } = words.petitions;
  const { title, description, target, ask, content, thankYou, thankYouMail } = petition;
  const texts: [Text['name'], string, unknown, number, isLong?: boolean][] = [
    ['title', fields.title, title, 200],
    ['description', fields.description, description, 10_000, true],
    ['target', fields.target, target, 500],
    ['ask', fields.ask, ask, 10_000, true],
    ['content', words.posts.fields.content, content, 200_000, true],
    ['outcomeText', words.fields.outcomeText!, petition.outcomeText, 10_000, true],
    ['consent', form.consent.text, petition.form.consent.text, 1_000, true],
    ['thankYou.title', translating.of(thanks.page, fields.title), thankYou?.title, 200],
    ['thankYou.text', translating.of(thanks.page, words.posts.fields.content), thankYou?.text, 10_000, true],
    ['thankYou.nextLabel', translating.of(thanks.page, thanks.nextLabel), thankYou?.nextLabel, 100],
    ['thankYou.nextUrl', translating.of(thanks.page, thanks.nextUrl), thankYou?.nextUrl, 2_000],
    ['thankYouMail.subject', translating.of(thanks.mail, thanks.subject), thankYouMail?.subject, 200],
    [
      'thankYouMail.content',
      translating.of(thanks.mail, thanks.content),
      thankYouMail?.content,
      20_000,
      true,
    ],
  ];
  return texts.flatMap(([name, label, own, max, isLong = false]) =>
    typeof own === 'string' && own !== '' ? [{ name, label, own, max, isLong }] : [],
  );
}

/** How many of these texts a translation has, and how many there are. */
function doneIn(
  context: PageContext,
  petition: PetitionRecord,
  translation: TranslationRecord,
): [number, number] {
  const texts = textsOf(context, petition);
  return [texts.filter(({ name }) => textIn(translation, name) !== null).length, texts.length];
}

/** Each text of the petition with the field for its translation next to it. */
async function fieldsOf(context: PageContext, petition: PetitionRecord, language: string): Promise<Html[]> {
  const { form, words } = context;
  const own = await ownLanguageOf(context, petition);
  return textsOf(context, petition).map(({ name, label, own: text, isLong, max }) => {
    const field = {
      name: inputOf(language, name),
      label,
      max,
      value: textIn(petition.translations[language], name),
      isOptional: name !== 'title',
    };
    return html`<div class="pair">
      <div>
        <p class="hint">${words.petitions.translating.originalIn(languageName(own, words.locale))}</p>
        <div class="original" lang="${own}" dir="auto">${text}</div>
      </div>
      ${isLong ? AreaField(form, { ...field, markup: MARKUP[name] }) : TextField(form, field)}
    </div>`;
  });
}

function typedIn(form: FormInput, context: PageContext, petition: PetitionRecord, language: string): object {
  const typed: Record<string, unknown> = {};
  const within: Record<string, Record<string, string | null>> = {};
  for (const { name } of textsOf(context, petition)) {
    const value = form.typed(inputOf(language, name));
    const [whole = '', part] = name.split('.');
    if (part === undefined) typed[whole] = value;
    else (within[whole] ??= {})[part] = value;
  }
  const { thankYou } = within;
  if (thankYou?.nextUrl || thankYou?.nextLabel) {
    // The button of the petition, unless the translation has its own.
    thankYou.nextUrl ??= petition.thankYou!.nextUrl;
    thankYou.nextLabel ??= petition.thankYou!.nextLabel;
  }
  for (const [whole, parts] of Object.entries(within))
    typed[whole] = Object.values(parts).some((part) => part !== null)
      ? Object.fromEntries(
          Object.entries(parts).map(([part, value]) => [
            part,
            value ?? (whole === 'thankYouMail' ? '' : null),
          ]),
        )
      : null;
  return typed;
}

function inputOf(language: string, name: Text['name']): string {
  return `translations.${language}.${name}`;
}

function textIn(translation: TranslationRecord | undefined, name: Text['name']): string | null {
  const [whole = '', part] = name.split('.');
  const text = (translation as Record<string, unknown> | undefined)?.[whole];
  const found = part === undefined ? text : (text as Record<string, unknown> | undefined)?.[part];
  return typeof found === 'string' ? found : null;
}

/** The language of a translation, by default that in the page's address, and its name. @throws RpcError NOT_FOUND */
async function languageOf(
  context: PageContext,
  petition: PetitionRecord,
  tag = context.address.query('language'),
): Promise<{ language: string; name: string }> {
  const { words } = context;
  const language = languageTag(tag ?? '');
  if (language === undefined || language === (await ownLanguageOf(context, petition)))
    throw noSuch('translation');
  return { language, name: languageName(language, words.locale) };
}

/** The language of the petition's own texts. */
async function ownLanguageOf({ api }: PageContext, { language }: PetitionRecord): Promise<string> {
  if (language !== null) return language;
  return (await api.run<{ language: string }>('organization.get-organization', {})).language;
}

/** The language of a petition's own texts. By default, it is the organization's. */
export function LanguageField({ form, words }: PageContext, petition?: PetitionRecord): Html {
  const { own, ofOrganization } = words.petitions.translating;
  const { language = null, translations = {} } = petition ?? {};
  const others = language === null || OFFERED.includes(language) ? [] : [language];
  const choices = choicesIn(
    words.locale,
    [...OFFERED, ...others].filter((one) => !Object.hasOwn(translations, one)),
  );
  const isPreset = Object.keys(translations).length === 0;
  return SelectField(form, {
    ...{ name: 'language', label: own, value: language ?? '' },
    // With translations, a petition has a language of its own.
    choices: isPreset ? [{ value: '', text: ofOrganization }, ...choices] : choices,
  });
}

/** Languages by their names, in alphabetical order. */
function choicesIn(locale: string, languages: readonly string[]): Choice[] {
  return languages
    .map((value) => ({ value, text: languageName(value, locale) }))
    .toSorted((one, other) => one.text.localeCompare(other.text, locale));
}
