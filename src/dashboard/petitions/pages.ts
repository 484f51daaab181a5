import { html, type Html, ShareKit, trusted } from '#libs/pages';
import { countryName } from '../../contacts/index.js';
import { type DashboardWords, localeIn } from '#locales';
import { Activity, type ActivityEvent } from '../../history/index.js';
import { COMMENTS, DEFAULT_GOAL, PublicComments, STATUSES } from '../../petitions/index.js';
import { ImageField } from '../image-choice.js';
import { deletionPage, stepPage } from '../step-pages.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  AreaField,
  ButtonLink,
  ChoiceField,
  Actions,
  Facts,
  FormOf,
  numberIn,
  Progress,
  SectionOf,
  TextField,
  timeIn,
  BadgeOf,
} from '../parts.js';
import { CountsOverTime } from '../counts-over-time.js';
import { ActivityLog } from '../activity-log.js';
import { type FormInput, type PageContext } from '../page-context.js';
import {
  ContentField,
  isPreview,
  PreviewButton,
  PreviewOf,
  TitleField,
  typedContent,
  typedTitle,
  WrittenOf,
} from '../written.js';
import { deliveryPages } from './delivery-pages.js';
import { FormEditorOf, typedForm } from './form-editor.js';
import { requireFuture, TimeField, timeZoneOf, typedTime } from '../time-zone.js';
import { outcomePage } from './outcome-page.js';
import { goalPage, GoalProposal } from './goal-page.js';
import { paperPages } from './paper-pages.js';
import { type PetitionRecord, petitionOf, signaturesOf, toPetition } from './petition.js';
import { signaturePages } from './signature-pages.js';
import { thankYouPages } from './thank-you-pages.js';
import { LanguageField, translationPages } from './translation-pages.js';

/** Invalidations, and counts on paper, in a petition's activity. Their lists have all of them. */
const MAX_OTHERS = 50;

export const petitionPages: PageDefinition[] = [
  ...listPages<PetitionRecord>({
    path: 'petitions',
    section: 'petitions',
    needs: 'petition:read',
    operation: 'petition.list-petitions',
    title: ({ petitions }) => petitions.title,
    text: ({ petitions }) => petitions.text,
    empty: ({ petitions }) => petitions.none,
    search: ({ petitions }) => petitions.search,
    fields: ({ address }) => ({ status: address.query('status') }),
    filters: (context) => {
      const { petitions, state } = context.words;
      const choices = STATUSES.map((value) => ({ value, text: petitions.statuses[value] }));
      return Promise.resolve([FilterField(context, { name: 'status', label: state, choices })]);
    },
    add: { path: 'petitions/new', text: ({ petitions }) => petitions.add, needs: 'petition:write' },
    columns: [
      {
        name: ({ petitions }) => petitions.fields.title,
        cell: ({ id, title }, { address }) => html`<a href="${address.path(`petitions/${id}`)}">${title}</a>`,
        exported: ({ title }) => title,
      },
      {
        name: ({ state }) => state,
        cell: ({ status }, { words }) => words.petitions.statuses[status],
        badge: ({ status }) => status,
        isObvious: true,
      },
      {
        name: ({ petitions }) => petitions.signatures,
        cell: (petition, { words }) => numberIn(words, signaturesOf(petition)),
        exported: signaturesOf,
        isNumber: true,
      },
      {
        name: ({ petitions }) => petitions.goal,
        cell: ({ goal }, { words }) => numberIn(words, goal),
        exported: ({ goal }) => goal,
        isNumber: true,
      },
    ],
  }),
  {
    path: 'petitions/new',
    needs: 'petition:write',
    show: async (context) => {
      const { petitions } = context.words;
      return context.view.page({
        section: 'petitions',
        back: { href: context.address.path('petitions'), text: petitions.title },
        title: petitions.add,
        content: await WritingOf(context),
      });
    },
    act: async (context) => {
      const { form, api } = context;
      if (isPreview(form)) return form.again();
      const fields = typedIn(form, await timeZoneOf(context));
      requireFuture('petition.create-petition', fields, 'closesAt', null);
      const { petitionId } = await api.run<{ petitionId: string }>('petition.create-petition', fields);
      return { to: `petitions/${petitionId}`, done: 'petitions.created' };
    },
  },
  { path: 'petitions/:petition', needs: 'petition:read', show: showPetition },
  {
    path: 'petitions/:petition/edit',
    needs: 'petition:write',
    show: async (context) => {
      const petition = await petitionOf(context);
      return context.view.page({
        section: 'petitions',
        back: toPetition(context.address, petition),
        title: `${context.words.petitions.edit}: ${petition.title}`,
        content: await WritingOf(context, petition),
      });
    },
    act: async (context) => {
      if (isPreview(context.form)) return context.form.again();
      const petitionId = context.address.params.petition!;
      const petition = await petitionOf(context);
      context.form.requireSame(petition);
      const fields = { petitionId, ...typedIn(context.form, await timeZoneOf(context), petition) };
      requireFuture('petition.update-petition', fields, 'closesAt', petition.closesAt);
      await context.api.run('petition.update-petition', fields);
      return { to: `petitions/${petitionId}`, done: 'petitions.changed' };
    },
  },
  {
    path: 'petitions/:petition/duplicate',
    needs: 'petition:write',
    show: async (context) => {
      const { petitions, nameOf } = context.words;
      const petition = await petitionOf(context);
      const { title, button, name } = petitions.duplicating;
      const field = {
        name: 'name',
        label: nameOf,
        value: name(petition.name).slice(0, 200),
        isRequired: true,
      };
      return context.view.page({
        section: 'petitions',
        back: toPetition(context.address, petition),
        title: title(petition.name),
        content: html`<div class="text">
          <p>${petitions.duplicating.text}</p>
          ${FormOf(context.form, { fields: [TextField(context.form, field)], button })}
        </div>`,
      });
    },
    act: async ({ address, api, form }) => {
      const name = form.typed('name') ?? '';
      const fields = { petitionId: address.params.petition, name };
      const { petitionId } = await api.run<{ petitionId: string }>('petition.duplicate-petition', fields);
      return { to: `petitions/${petitionId}`, done: 'petitions.created' };
    },
  },
  step('publish', 'published'),
  step('close', 'closed'),
  deletionPage({ section: 'petitions', record: 'petition', find: petitionOf }),
  ...signaturePages,
  ...paperPages,
  ...deliveryPages,
  ...thankYouPages,
  ...translationPages,
  goalPage,
  outcomePage,
];

function step(step: 'publish' | 'close', done: string): PageDefinition {
  return stepPage({
    section: 'petitions',
    record: 'petition',
    step,
    ask: async (context) => {
      const { title, status } = await petitionOf(context);
      const { close, closing, publishing } = context.words.petitions;
      const isClosed = step === 'close';
      const button = isClosed ? close : publishingOf(context.words, status);
      return { title: `${button}: ${title}`, text: isClosed ? closing : publishing, button };
    },
    done,
  });
}

/** One operation does both, but people distinguish publishing from reopening. */
function publishingOf(words: DashboardWords, status: PetitionRecord['status']): string {
  const { publish, reopen } = words.petitions;
  return status === 'CLOSED' ? reopen : publish;
}

async function showPetition(context: PageContext) {
  const { words } = context;
  const { petitions } = words;
  const [petition, past, stats] = await Promise.all([
    petitionOf(context),
    ActivityLog(context, context.address.params.petition!, othersOf(context)),
    StatsOf(context),
  ]);
  const { id, status, url, offlineSignatures, pendingSignatures, goal, closesAt, outcome } = petition;
  const mayWrite = context.person.may('petition:write');
  const isPublic = url !== null && status !== 'DRAFT';
  const { shareBy } = localeIn(words.locale).site;
  return context.view.page({
    section: 'petitions',
    back: { href: context.address.path('petitions'), text: petitions.title },
    title: petition.title,
    content: html`<p>
        ${BadgeOf(status, petitions.statuses[status])}
        ${outcome === null ? null : BadgeOf(outcome, petitions.outcome.choices[outcome])}
      </p>
      ${Progress({ words, label: petitions.signatures, value: signaturesOf(petition), max: goal })}
      ${offlineSignatures > 0 ? html`<p>${petitions.paper.included(offlineSignatures)}</p>` : null}
      ${GoalProposal(context, petition)}
      ${pendingSignatures > 0 ? html`<p>${petitions.pending(pendingSignatures)}</p>` : null}
      ${await WaitingComments(context, petition)}
      ${Actions([
        mayWrite && status !== 'PUBLISHED'
          ? ButtonLink(context.address, `petitions/${id}/publish`, publishingOf(context.words, status))
          : null,
        isPublic ? html`<a class="button plain" href="${new URL(url).pathname}">${petitions.open}</a>` : null,
        mayWrite ? ButtonLink(context.address, `petitions/${id}/edit`, petitions.edit, true) : null,
        mayWrite ? ButtonLink(context.address, `petitions/${id}/goal`, petitions.goals.title, true) : null,
        mayWrite ? ButtonLink(context.address, `petitions/${id}/thanks`, petitions.thanks.title, true) : null,
        mayWrite
          ? ButtonLink(context.address, `petitions/${id}/translations`, petitions.translating.title, true)
          : null,
        ButtonLink(context.address, `petitions/${id}/signatures`, petitions.signers.title, true),
        ButtonLink(context.address, `petitions/${id}/paper`, petitions.paper.title, true),
        ButtonLink(context.address, `petitions/${id}/delivery`, petitions.delivery.title, true),
        mayWrite
          ? ButtonLink(context.address, `petitions/${id}/duplicate`, petitions.duplicating.link, true)
          : null,
        mayWrite && status === 'CLOSED'
          ? ButtonLink(context.address, `petitions/${id}/outcome`, petitions.outcome.title, true)
          : null,
        mayWrite && status === 'PUBLISHED'
          ? ButtonLink(context.address, `petitions/${id}/close`, petitions.close, true)
          : null,
        mayWrite && status !== 'PUBLISHED'
          ? ButtonLink(context.address, `petitions/${id}/delete`, petitions.delete, true)
          : null,
      ])}
      ${closesAt === null ? null : Facts([{ name: petitions.lastDay, value: timeIn(words, closesAt, await timeZoneOf(context)) }])}
      ${stats}
      ${isPublic ? SectionOf(petitions.share, ShareKit({ title: petition.title, text: petition.title, url }, shareBy)) : null}
      ${SectionOf(words.posts.preview, await WrittenOf({ ...petition, facts: askedOf(context.words, petition) }))} ${past}`,
  });
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

async function StatsOf({ words, address, api }: PageContext): Promise<Html | null> {
  const { stats } = words.petitions;
  const { days, countries, sources, recruited, recruiters } = await api.run<Stats>('petition.get-stats', {
    petitionId: address.params.petition,
  });
  return CountsOverTime(words, {
    title: stats.title,
    counted: stats.signatures,
    days: days.map(({ date, signatures }) => ({ date, count: signatures })),
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

/** The petition's target and demand, labelled as on its public page. */
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
    TextField(context.form, {
      name: 'slug',
      label: posts.fields.slug,
      hint: posts.fields.slugHint,
      value: petition?.slug,
      max: 80,
      isOptional: true,
    }),
  ];
  const written = [
    TitleField(context.form, { label: fields.title, hint: fields.titleHint, value: petition?.title }),
    AreaField(context.form, {
      name: 'description',
      label: fields.description,
      value: petition?.description,
      isOptional: true,
    }),
    TextField(context.form, {
      name: 'target',
      label: fields.target,
      hint: fields.targetHint,
      value: petition?.target,
      isOptional: true,
    }),
    TextField(context.form, { name: 'ask', label: fields.ask, value: petition?.ask, isOptional: true }),
    TextField(context.form, {
      name: 'goal',
      label: fields.goal,
      value: String(petition?.goal ?? DEFAULT_GOAL),
      type: 'number',
    }),
    await ImageField(context, petition?.imageId),
    ContentField(context.form, petition?.content, {
      label: posts.fields.content,
      hint: posts.fields.contentHint,
      foreign: posts.fields.foreign,
    }),
    // Open after an error, because the field with the error may be inside.
    await FormEditorOf(context, petition),
    html`<details${context.form.refusal ? trusted(' open') : null}><summary>${fields.more}</summary>${more}</details>`,
  ];
  const button = petition ? petitions.save : petitions.saveDraft;
  const facts = askedOf(context.words, {
    target: context.form.typed('target'),
    ask: context.form.typed('ask'),
  });
  return html`<div class="text">${FormOf(context.form, { fields: written, button, secondButton: PreviewButton(context.words), of: petition })}</div>
    ${await PreviewOf(context, petitions.add, { before: petition, facts })}`;
}

/** How many comments await approval, with a link to them. Counting more would take longer and tell no more. */
export async function WaitingComments(
  { words, address, api }: PageContext,
  { id, comments }: PetitionRecord,
): Promise<Html | null> {
  if (comments !== 'APPROVED') return null;
  const waiting = await api.find(PublicComments).waiting(api.organizationId, id, 1_000);
  if (waiting === 0) return null;
  const { waitingComments, comments: texts } = words.petitions;
  return html`<p>
    ${waitingComments(waiting)}
    <a href="${address.path(`petitions/${id}/signatures?commentState=WAITING`)}">${texts.review}</a>
  </p>`;
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
