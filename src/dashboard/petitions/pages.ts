import { html, type Html, ShareKit } from '#libs/pages';
import { countryName } from '../../contacts/index.js';
import { type DashboardWords, localeIn } from '#locales';
import { Activity, type ActivityEvent } from '../../history/index.js';
import { COMMENTS, DEFAULT_GOAL, PublicComments, STATUSES } from '../../petitions/index.js';
import { ImageField } from '../image-choice.js';
import { createdColumn, filteredBy, numberColumn, statusColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  Actions,
  BadgeOf,
  ChoiceField,
  Facts,
  fieldsFor,
  Folded,
  FormOf,
  Progress,
  PublicLink,
  SectionOf,
  TextField,
  timeIn,
} from '../parts.js';
import { type Steps } from '../record-pages.js';
import { CountsOverTime } from '../counts-over-time.js';
import { ActivityLog } from '../activity-log.js';
import { type FormInput, type PageContext } from '../page-context.js';
import {
  ContentField,
  isPreview,
  TitleField,
  typedContent,
  typedTitle,
  WritingForm,
  WrittenOf,
} from '../written.js';
import { deliveryPages } from './delivery-pages.js';
import { FormEditorOf, typedForm } from './form-editor.js';
import { requireFuture, TimeField, timeZoneOf, typedTime } from '../time-zone.js';
import { outcomePage } from './outcome-page.js';
import { goalPage, GoalProposal } from './goal-page.js';
import { paperPages } from './paper-pages.js';
import { type PetitionRecord, petitions, signaturesOf } from './petition.js';
import { signaturePages } from './signature-pages.js';
import { thankYouPages } from './thank-you-pages.js';
import { LanguageField, translationPages } from './translation-pages.js';

/** Invalidations, and counts on paper, in a petition's activity. Their lists have all of them. */
const MAX_OTHERS = 50;

export const petitionPages: PageDefinition[] = [
  ...petitions.list({
    ...filteredBy(
      'status',
      ({ state }) => state,
      ({ petitions: { statuses } }) => STATUSES.map((value) => ({ value, text: statuses[value] })),
    ),
    columns: [
      petitions.titleColumn(({ petitions }) => petitions.fields.title),
      statusColumn('petitions'),
      numberColumn(({ petitions }) => petitions.signatures, signaturesOf),
      numberColumn(
        ({ petitions }) => petitions.goal,
        ({ goal }) => goal,
      ),
      createdColumn(),
    ],
  }),
  ...petitions.writing({
    keepsDrafts: true,
    content: WritingOf,
    isAgain: isPreview,
    input: async (context, petition) => {
      const fields = typedIn(context.form, await timeZoneOf(context), petition);
      const operation = `petition.${petition ? 'update' : 'create'}-petition`;
      requireFuture(operation, fields, 'closesAt', petition?.closesAt ?? null);
      return fields;
    },
  }),
  petitions.shownWith(StatsOf, showPetition, (context) =>
    ActivityLog(context, context.address.params.petition!, othersOf(context)),
  ),
  {
    ...petitions.page('duplicate', {
      needs: 'petition:write',
      title: ({ petitions }, { name }) => petitions.duplicating.title(name),
      content: ({ words, form }, petition) => {
        const { text, button, name } = words.petitions.duplicating;
        const value = name(petition.name).slice(0, 200);
        const fields = [TextField(form, { name: 'name', label: words.nameOf, value })];
        return html`<div class="text"><p>${text}</p>${FormOf(form, { fields, button })}</div>`;
      },
    }),
    act: async ({ address, api, form }) => {
      const name = form.typed('name') ?? '';
      const fields = { petitionId: address.params.petition, name };
      const { petitionId } = await api.run<{ petitionId: string }>('petition.duplicate-petition', fields);
      return { to: `petitions/${petitionId}`, done: 'petitions.created' };
    },
  },
  petitions.step('publish', {
    ask: ({ words }, { title, status }) => {
      const button = publishingOf(words, status);
      return { title: `${button}: ${title}`, text: words.petitions.publishing, button };
    },
    done: 'published',
  }),
  petitions.step('close', {
    ask: ({ words: { petitions } }, { title }) => ({
      title: `${petitions.close}: ${title}`,
      ...{ text: petitions.closing, button: petitions.close },
    }),
    done: 'closed',
  }),
  petitions.deletion(),
  ...signaturePages,
  ...paperPages,
  ...deliveryPages,
  ...thankYouPages,
  ...translationPages,
  goalPage,
  outcomePage,
];

/** One operation does both, but people distinguish publishing from reopening. */
function publishingOf(words: DashboardWords, status: PetitionRecord['status']): string {
  const { publish, reopen } = words.petitions;
  return status === 'CLOSED' ? reopen : publish;
}

async function showPetition(
  context: PageContext,
  petition: PetitionRecord,
  { mayWrite, link }: Steps,
  stats: Html | null,
) {
  const { words } = context;
  const { petitions } = words;
  const { status, title, url, offlineSignatures, pendingSignatures, goal, closesAt, outcome } = petition;
  const isPublic = url !== null && status !== 'DRAFT';
  const isOpen = status === 'PUBLISHED';
  const { shareBy } = localeIn(words.locale).site;
  const written = await WrittenOf({ ...petition, facts: askedOf(words, petition) });
  return html`<p>
      ${BadgeOf(status, petitions.statuses[status])}
      ${outcome === null ? null : BadgeOf(outcome, petitions.outcome.choices[outcome])}
    </p>
    ${Progress({ words, label: petitions.signatures, value: signaturesOf(petition), max: goal })}
    ${offlineSignatures > 0 ? html`<p>${petitions.paper.included(offlineSignatures)}</p>` : null}
    ${GoalProposal(context, petition)}
    ${pendingSignatures > 0 ? html`<p>${petitions.pending(pendingSignatures)}</p>` : null}
    ${(await waitingComments(context, [petition]))(petition)}
    ${Actions(
      [
        mayWrite && status === 'DRAFT' && link('publish', petitions.publish, false),
        mayWrite && status === 'CLOSED' && link('outcome', petitions.outcome.title, false),
        link('signatures', petitions.signers.title, mayWrite && !isOpen),
        isPublic && PublicLink(url, petitions.open),
        mayWrite && link('edit', petitions.edit),
        mayWrite && link('goal', petitions.goals.title),
        mayWrite && link('thanks', petitions.thanks.title),
        mayWrite && link('translations', petitions.translating.title),
        link('paper', petitions.paper.title),
        link('delivery', petitions.delivery.title),
        mayWrite && link('duplicate', petitions.duplicating.link),
        mayWrite && isOpen && link('close', petitions.close),
        mayWrite && status === 'CLOSED' && link('publish', petitions.reopen),
        mayWrite && !isOpen && link('delete', petitions.delete),
      ],
      words,
    )}
    ${closesAt === null ? null : Facts([{ name: petitions.lastDay, value: timeIn(words, closesAt, await timeZoneOf(context)) }])}
    ${stats}
    ${isPublic ? SectionOf(petitions.share, ShareKit({ title, text: title, url }, shareBy)) : null}
    ${isPublic ? Folded(words.posts.preview, written, false) : SectionOf(words.posts.preview, written)}`;
}

/** One event per invalidation or restoration, however many signatures it covers, and the counts of signatures on paper. */
async function othersOf({ address, api }: PageContext): Promise<ActivityEvent[]> {
  const fields = { petitionId: address.params.petition, limit: MAX_OTHERS };
  const lists = ['petition.list-invalidations', 'petition.list-offline-signatures'].map((operation) =>
    api.run<{ records: { id: string }[] }>(operation, fields),
  );
  const records = (await Promise.all(lists)).flatMap((list) => list.records);
  return api.find(Activity).beginningsOf(
    api.organizationId,
    records.map(({ id }) => id),
  );
}

type Stats = {
  days: { date: string; signatures: number }[];
  countries: { country: string | null; signatures: number }[];
  sources: { source: string | null; signatures: number }[];
  recruited: number;
  recruiters: unknown[];
};

async function StatsOf(
  { words, address, api }: PageContext,
  found: Promise<PetitionRecord>,
): Promise<Html | null> {
  const { stats } = words.petitions;
  const [petition, answer] = await Promise.all([
    found,
    api.run<Stats>('petition.get-stats', { petitionId: address.params.petition }),
  ]);
  const { days, countries, sources, recruited, recruiters } = answer;
  return CountsOverTime(words, {
    title: stats.title,
    counted: stats.signatures,
    days: days.map(({ date, signatures }) => ({ date, count: signatures })),
    goal: { title: petition.offlineSignatures > 0 ? stats.withoutPaper : stats.total, value: petition.goal },
    note: recruited === 0 ? null : html`<p>${stats.recruited(recruited, recruiters.length)}</p>`,
    tables: [
      {
        title: stats.sources,
        column: stats.source,
        rows: sources.map((row) => [row.source, row.signatures] as const),
      },
      {
        title: stats.countries,
        column: stats.country,
        rows: countries.map(
          ({ country, signatures }) => [country && countryName(words.locale, country), signatures] as const,
        ),
      },
    ],
  });
}

function askedOf(words: DashboardWords, { target, ask }: Pick<PetitionRecord, 'target' | 'ask'>) {
  const { preview } = words.petitions;
  return [
    { name: preview.target, value: target },
    { name: preview.ask, value: ask },
  ];
}

async function WritingOf(context: PageContext, petition?: PetitionRecord): Promise<Html> {
  const { petitions, posts } = context.words;
  const { fields } = petitions;
  const timeZone = await timeZoneOf(context);
  const more = [
    ChoiceField(context.form, {
      name: 'confirmation',
      label: fields.confirmation,
      values: [petition?.confirmation ?? 'EMAIL'],
      choices: (['EMAIL', 'NONE'] as const).map((value) => ({ value, text: fields.confirmations[value] })),
    }),
    TimeField(context.form, timeZone, {
      name: 'closesAt',
      label: fields.closesAt(timeZone),
      value: petition?.closesAt,
    }),
    ChoiceField(context.form, {
      name: 'comments',
      label: fields.comments,
      values: [petition?.comments ?? 'OFF'],
      choices: COMMENTS.map((value) => ({ value, text: fields.commentChoices[value] })),
    }),
    LanguageField(context, petition),
    fieldsFor(context.form, posts.fields, petition).optionalText('slug', { max: 80 }),
  ];
  const { text, optionalText, optionalArea } = fieldsFor(context.form, fields, petition);
  const written = [
    TitleField(context.form, { label: fields.title, hint: fields.titleHint, value: petition?.title }),
    optionalArea('description'),
    optionalText('target'),
    optionalText('ask'),
    text('goal', { value: String(petition?.goal ?? DEFAULT_GOAL), type: 'number' }),
    await ImageField(context, petition?.imageId),
    ContentField(context.form, petition?.content, {
      label: posts.fields.content,
      hint: posts.fields.contentHint,
      foreign: posts.fields.foreign,
    }),
    await FormEditorOf(context, petition),
    Folded(fields.more, more),
  ];
  const button = petition ? petitions.save : petitions.saveDraft;
  const facts = askedOf(context.words, {
    target: context.form.typed('target'),
    ask: context.form.typed('ask'),
  });
  const form = { fields: written, button, of: petition, writer: context.person };
  return WritingForm(context, form, petitions.add, { before: petition, facts });
}

/** How many comments of each petition await approval, with a link to them. Counting more would take longer and show nothing more. */
export async function waitingComments(
  { words, address, api }: PageContext,
  petitions: readonly PetitionRecord[],
): Promise<(petition: PetitionRecord) => Html | null> {
  const ids = petitions.filter(({ comments }) => comments === 'APPROVED').map(({ id }) => id);
  const waiting = await api.find(PublicComments).waiting(api.organizationId, ids, 1_000);
  const { waitingComments: countOf, comments: texts } = words.petitions;
  return ({ id }) => {
    const count = waiting.get(id) ?? 0;
    if (count === 0) return null;
    return html`<p>
      ${countOf(count)}
      <a href="${address.path(`petitions/${id}/signatures?commentState=WAITING`)}">${texts.review}</a>
    </p>`;
  };
}

function typedIn(form: FormInput, timeZone: string, petition?: PetitionRecord): Record<string, unknown> {
  return {
    ...typedTitle(form),
    description: form.typed('description'),
    target: form.typed('target'),
    ask: form.typed('ask'),
    goal: Number(form.typed('goal') ?? Number.NaN),
    ...(form.has('imageId') ? { imageId: form.typed('imageId') } : {}),
    ...(form.has('confirmation') ? { confirmation: form.get('confirmation') } : {}),
    ...(form.has('language') ? { language: form.typed('language') } : {}),
    closesAt: typedTime(form, 'closesAt', timeZone, petition?.closesAt ?? null),
    ...(form.has('comments') ? { comments: form.get('comments') } : {}),
    form: typedForm(form, petition),
    ...(form.typed('slug') === null ? {} : { slug: form.typed('slug') }),
    ...typedContent(form),
  };
}
