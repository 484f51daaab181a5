import { html, type Html, ShareKit } from '#libs/pages';
import { localeIn } from '#locales';
import { STATUSES } from '../../forms/index.js';
import { type NamedForm } from '../../petitions/index.js';
import { CountsOverTime } from '../counts-over-time.js';
import { choicesWith } from '../contacts/contact.js';
import { createdColumn, numberColumn, statusColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { type FormInput, type PageContext } from '../page-context.js';
import {
  Actions,
  AreaField,
  BadgeOf,
  ChoiceField,
  Facts,
  fieldsFor,
  Folded,
  numberIn,
  PublicLink,
  SectionOf,
  SelectField,
  TextForm,
} from '../parts.js';
import { FormEditorOf, typedForm } from '../petitions/form-editor.js';
import { type PetitionRecord } from '../petitions/petition.js';
import { ThankYouFields, typedThankYou } from '../petitions/thank-you-pages.js';
import { recordPages } from '../record-pages.js';
import { TitleField, typedTitle } from '../written.js';

type FormRecord = NamedForm &
  Pick<PetitionRecord, 'id' | 'createdAt' | 'updatedAt' | 'name' | 'title' | 'slug' | 'url' | 'thankYou'> & {
    text: string | null;
    confirmation: 'EMAIL' | 'NONE';
    status: (typeof STATUSES)[number];
    listIds: string[];
    tagIds: string[];
    submissions: number;
    pendingSubmissions: number;
  };

const forms = recordPages<FormRecord>({ section: 'forms', record: 'form' });

export const formPages: PageDefinition[] = [
  ...forms.list({
    search: ({ posts }) => posts.search,
    columns: [
      forms.titleColumn(({ posts }) => posts.fields.title),
      statusColumn('forms'),
      numberColumn(
        ({ forms }) => forms.submissions,
        ({ submissions }) => submissions,
      ),
      createdColumn(),
    ],
  }),
  ...forms.writing({ content: WritingOf, input: ({ form }, record) => typedIn(form, record) }),
  forms.shownWith(StatsOf, ({ words }, record, { mayWrite, link }, stats) => {
    const { forms, posts, petitions } = words;
    const { title, text, url, status, submissions, pendingSubmissions } = record;
    const { shareBy, signUp } = localeIn(words.locale).site;
    const shared = { title, text: title, url: url ?? '' };
    return html`<p>${BadgeOf(status, forms.statuses[status])}</p>
      ${text === null ? null : html`<p class="lead">${text}</p>`}
      ${Facts([
        { name: forms.submissions, value: numberIn(words, submissions) },
        { name: forms.pending, value: numberIn(words, pendingSubmissions) },
      ])}
      ${Actions([
        mayWrite && link('edit', posts.edit, false),
        PublicLink(url, posts.open),
        mayWrite && link('delete', posts.delete),
      ])}
      ${stats}
      ${url === null ? null : SectionOf(petitions.share, ShareKit(shared, { ...shareBy, ...signUp.shareBy }))}`;
  }),
  forms.deletion(),
];

type Stats = {
  days: { date: string; submissions: number }[];
  sources: { source: string | null; submissions: number }[];
};

async function StatsOf({ words, address, api }: PageContext): Promise<Html | null> {
  const { forms, petitions } = words;
  const { days, sources } = await api.run<Stats>('form.get-stats', { formId: address.params.form });
  return CountsOverTime(words, {
    title: forms.overTime,
    counted: forms.submissions,
    days: days.map(({ date, submissions }) => ({ date, count: submissions })),
    tables: [
      {
        title: petitions.stats.sources,
        column: petitions.stats.source,
        rows: sources.map((row) => [row.source, row.submissions] as const),
      },
    ],
  });
}

async function WritingOf(context: PageContext, record?: FormRecord): Promise<Html> {
  const { form, words } = context;
  const { forms, posts, petitions } = words;
  const asked = record ?? {
    fields: [
      { field: 'firstName', required: false },
      { field: 'lastName', required: false },
    ],
    consent: { text: null, required: true },
  };
  const more = [
    SelectField(form, {
      name: 'confirmation',
      label: forms.confirmation,
      value: record?.confirmation ?? 'EMAIL',
      choices: (['EMAIL', 'NONE'] as const).map((value) => ({ value, text: forms.confirmations[value] })),
    }),
    ...ThankYouFields(context, record?.thankYou ?? null),
    fieldsFor(form, posts.fields, record).optionalText('slug', { max: 80 }),
  ];
  const fields = [
    TitleField(form, {
      label: posts.fields.title,
      value: record?.title,
      ...(record && { hint: forms.titleHint, isOptional: true }),
    }),
    AreaField(form, { name: 'text', label: forms.above, value: record?.text, isOptional: true }),
    await FormEditorOf(context, { form: asked }, false),
    await GroupsOf(context, 'list', record?.listIds ?? []),
    await GroupsOf(context, 'tag', record?.tagIds ?? []),
    SelectField(form, {
      name: 'status',
      label: posts.status,
      value: record?.status ?? 'PUBLISHED',
      choices: STATUSES.map((value) => ({ value, text: forms.statuses[value] })),
    }),
    Folded(petitions.fields.more, more),
  ];
  return TextForm(form, { fields, button: posts.save, of: record });
}

/** The lists or tags that people get; may be empty. Null if the person may not assign them, or if none exist. */
async function GroupsOf(
  context: PageContext,
  kind: 'list' | 'tag',
  chosen: readonly string[],
): Promise<Html | null> {
  if (!context.person.may(`${kind}:write`)) return null;
  const choices = await choicesWith(context, kind, chosen);
  if (choices.length === 0) return null;
  const [name, label] = [`${kind}Ids`, context.words.forms.adds[kind]];
  return html`<input type="hidden" name="shows" value="${kind}" />
    ${ChoiceField(context.form, { name, label, choices, isMany: true, values: chosen })}`;
}

/** @param before its lists and tags are kept if the page did not show them. */
function typedIn(form: FormInput, before?: FormRecord): Record<string, unknown> {
  const chosen = (kind: 'list' | 'tag') =>
    form.getAll('shows').includes(kind) ? { [`${kind}Ids`]: form.getAll(`${kind}Ids`) } : {};
  const asked = typedForm(form, before && { form: before, comments: 'OFF' as const });
  return {
    // The built-in form's title changes with the language of the organization until someone enters another.
    ...(before && form.typed('title') === before.title ? {} : typedTitle(form)),
    text: form.typed('text'),
    ...asked,
    ...chosen('list'),
    ...chosen('tag'),
    ...(form.has('confirmation') ? { confirmation: form.get('confirmation') } : {}),
    ...(form.has('status') ? { status: form.get('status') } : {}),
    ...(form.has('thankYou.title') ? { thankYou: typedThankYou(form) } : {}),
    ...(form.typed('slug') === null ? {} : { slug: form.typed('slug') }),
  };
}
