import { EventStore, type RecordedEvent } from '#libs/event-store';
import { html, type Html, trusted } from '#libs/pages';
import { invalid, type Issue, operationNamed, parseInput, RpcError } from '#libs/rpc';
import { ImageField } from '../images/choice.js';
import { deletionPage } from '../deletion-page.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  AreaField,
  ConfirmForm,
  ButtonLink,
  CheckField,
  ChoiceField,
  dateIn,
  Actions,
  Facts,
  FormOf,
  numberIn,
  Plot,
  Progress,
  SectionOf,
  Table,
  TextField,
  timeIn,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type Visit } from '../visit.js';
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
import { type PetitionRecord, petitionOf, toPetition } from './petition.js';
import { signaturePages } from './signature-pages.js';

const STATUSES = ['DRAFT', 'PUBLISHED', 'CLOSED'] as const;
/** Days in the plot. With more, the bars become too thin to see. */
const MOST_DAYS = 90;
/** Number of sources and countries shown. */
const MOST_ROWS = 10;
/** Invalidations in a petition's activity. The list of removed signatures has all of them. */
const MOST_TAKEN_OUT = 50;
const DEFAULT_GOAL = 100;

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
    fields: (visit) => ({ status: visit.query('status') }),
    filters: (visit) => {
      const { petitions, state } = visit.words;
      const choices = STATUSES.map((value) => ({ value, text: petitions.statuses[value] }));
      return Promise.resolve([FilterField(visit, { name: 'status', label: state, choices })]);
    },
    add: { path: 'petitions/new', text: ({ petitions }) => petitions.add, needs: 'petition:write' },
    columns: [
      {
        name: ({ petitions }) => petitions.fields.title,
        cell: ({ id, title }, visit) => html`<a href="${visit.path(`petitions/${id}`)}">${title}</a>`,
        exported: ({ title }) => title,
      },
      { name: ({ state }) => state, cell: ({ status }, { words }) => words.petitions.statuses[status] },
      {
        name: ({ petitions }) => petitions.signatures,
        cell: ({ signatures }, { words }) => numberIn(words, signatures),
        exported: ({ signatures }) => signatures,
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
    show: async (visit) => {
      const { petitions } = visit.words;
      return visit.page({
        section: 'petitions',
        back: { href: visit.path('petitions'), text: petitions.title },
        title: petitions.add,
        content: await WritingOf(visit),
      });
    },
    act: async (visit) => {
      if (isPreview(visit)) return visit.again();
      const fields = typedIn(visit);
      requireOpen(visit, null, 'petition.create-petition', fields);
      const { petitionId } = await visit.run<{ petitionId: string }>('petition.create-petition', fields);
      return { to: `petitions/${petitionId}`, done: 'petitions.created' };
    },
  },
  { path: 'petitions/:petition', needs: 'petition:read', show: showPetition },
  {
    path: 'petitions/:petition/edit',
    needs: 'petition:write',
    show: async (visit) => {
      const petition = await petitionOf(visit);
      return visit.page({
        section: 'petitions',
        back: toPetition(visit, petition),
        title: `${visit.words.petitions.edit}: ${petition.title}`,
        content: await WritingOf(visit, petition),
      });
    },
    act: async (visit) => {
      if (isPreview(visit)) return visit.again();
      const petitionId = visit.params.petition!;
      const petition = await petitionOf(visit);
      visit.requireSame(petition);
      const fields = { petitionId, ...typedIn(visit, petition.closesAt) };
      requireOpen(visit, petition.closesAt, 'petition.update-petition', fields);
      await visit.run('petition.update-petition', fields);
      return { to: `petitions/${petitionId}`, done: 'petitions.changed' };
    },
  },
  step('publish', 'petition.publish-petition', 'petitions.published'),
  step('close', 'petition.close-petition', 'petitions.closed'),
  deletionPage({ section: 'petitions', record: 'petition', find: petitionOf }),
  ...signaturePages,
];

function step(path: 'publish' | 'close', operation: string, done: string): PageDefinition {
  return {
    path: `petitions/:petition/${path}`,
    needs: 'petition:write',
    show: async (visit) => {
      const { id, title, status } = await petitionOf(visit);
      const { petitions } = visit.words;
      const button = path === 'publish' ? publishingOf(visit, status) : petitions.close;
      return visit.page({
        section: 'petitions',
        title: `${button}: ${title}`,
        content: ConfirmForm(visit, {
          text: path === 'publish' ? petitions.publishing : petitions.closing,
          button,
          back: `petitions/${id}`,
        }),
      });
    },
    act: async (visit) => {
      await visit.run(operation, { petitionId: visit.params.petition });
      return { to: `petitions/${visit.params.petition!}`, done };
    },
  };
}

/** The operation is the same, but people distinguish publishing from reopening. */
function publishingOf({ words }: Visit, status: PetitionRecord['status']): string {
  const { publish, reopen } = words.petitions;
  return status === 'CLOSED' ? reopen : publish;
}

async function showPetition(visit: Visit) {
  const { words } = visit;
  const { petitions } = words;
  const [petition, past, stats] = await Promise.all([
    petitionOf(visit),
    ActivityLog(visit, visit.params.petition!, takenOutOf(visit)),
    StatsOf(visit),
  ]);
  const { id, status, url, signatures, pendingSignatures, goal, closesAt } = petition;
  const mayWrite = visit.may('petition:write');
  const facts = [
    ...(url !== null && status !== 'DRAFT' ? [{ name: petitions.address, value: url }] : []),
    ...(closesAt === null ? [] : [{ name: petitions.lastDay, value: timeIn(words, closesAt) }]),
  ];
  return visit.page({
    section: 'petitions',
    back: { href: visit.path('petitions'), text: petitions.title },
    title: petition.title,
    content: html`<p><span class="badge">${petitions.statuses[status]}</span></p>
      ${Progress({ words, label: petitions.signatures, value: signatures, max: goal })}
      ${pendingSignatures > 0 ? html`<p>${petitions.pending(pendingSignatures)}</p>` : null}
      ${Actions([
        mayWrite && status !== 'PUBLISHED'
          ? ButtonLink(visit, `petitions/${id}/publish`, publishingOf(visit, status))
          : null,
        url !== null && status !== 'DRAFT'
          ? html`<a class="button plain" href="${new URL(url).pathname}">${petitions.open}</a>`
          : null,
        mayWrite ? ButtonLink(visit, `petitions/${id}/edit`, petitions.edit, true) : null,
        ButtonLink(visit, `petitions/${id}/signatures`, petitions.signers.title, true),
        mayWrite && status === 'PUBLISHED'
          ? ButtonLink(visit, `petitions/${id}/close`, petitions.close, true)
          : null,
        mayWrite && status !== 'PUBLISHED'
          ? ButtonLink(visit, `petitions/${id}/delete`, petitions.delete, true)
          : null,
      ])}
      ${facts.length === 0 ? null : Facts(facts)} ${stats}
      ${SectionOf(words.posts.preview, await WrittenOf({ ...petition, facts: askedOf(visit, petition) }))} ${past}`,
  });
}

/** One event per invalidation or restoration, however many signatures it covers. */
async function takenOutOf(visit: Visit): Promise<RecordedEvent[]> {
  const { records } = await visit.run<{ records: { id: string }[] }>('petition.list-invalidations', {
    petitionId: visit.params.petition,
    limit: MOST_TAKEN_OUT,
  });
  return visit.find(EventStore).readBeginnings(
    visit.organizationId,
    records.map(({ id }) => id),
  );
}

const DAY_MS = 86_400_000;

type Stats = {
  days: { date: string; signatures: number }[];
  countries: { country: string | null; signatures: number }[];
  sources: { source: string | null; signatures: number }[];
};

async function StatsOf(visit: Visit): Promise<Html | null> {
  const { words } = visit;
  const { stats } = words.petitions;
  const { days, countries, sources } = await visit.run<Stats>('petition.get-stats', {
    petitionId: visit.params.petition,
  });
  if (days.length === 0) return null;
  const tables = [
    {
      title: stats.sources,
      column: stats.source,
      rows: sources.map((row) => [row.source, row.signatures] as const),
    },
    {
      title: stats.countries,
      column: stats.country,
      rows: countries.map((row) => [row.country, row.signatures] as const),
    },
  ];
  return html`${SectionOf(
    stats.title,
    Plot({
      words,
      title: stats.title,
      columns: [stats.day, stats.signatures],
      bars: everyDay(days).map(({ date, signatures }) => ({ name: dateIn(words, date), value: signatures })),
    }),
  )}
  ${tables
    .filter(({ rows }) => rows.some(([name]) => name !== null))
    .map(({ title, column, rows }) =>
      SectionOf(
        title,
        Table({
          caption: title,
          columns: [{ name: column }, { name: stats.signatures, isNumber: true }],
          rows: rows
            .toSorted(([, one], [, other]) => other - one)
            .slice(0, MOST_ROWS)
            .map(([name, n]) => [name ?? stats.unknown, numberIn(words, n)]),
        }),
      ),
    )}`;
}

/** Includes days without signatures. Returns at least 14 days and at most `MOST_DAYS`. */
function everyDay(days: Stats['days']): Stats['days'] {
  const known = new Map(days.map(({ date, signatures }) => [date, signatures]));
  const dates = [...known.keys()].toSorted();
  const [first, last] = [Date.parse(dates[0]!), Date.parse(dates.at(-1)!)];
  const all: Stats['days'] = [];
  const from = Math.max(Math.min(first, last - 13 * DAY_MS), last - (MOST_DAYS - 1) * DAY_MS);
  for (let day = from; day <= last; day += DAY_MS) {
    const date = new Date(day).toISOString().slice(0, 10);
    all.push({ date, signatures: known.get(date) ?? 0 });
  }
  return all;
}

/** The petition's target and demand, as facts. */
function askedOf({ words }: Visit, { target, ask }: Pick<PetitionRecord, 'target' | 'ask'>) {
  const { fields } = words.petitions;
  return [
    { name: fields.target, value: target },
    { name: fields.ask, value: ask },
  ];
}

async function WritingOf(visit: Visit, petition?: PetitionRecord): Promise<Html> {
  const { petitions, posts } = visit.words;
  const { fields } = petitions;
  const more = [
    ChoiceField(visit, {
      name: 'confirmation',
      label: fields.confirmation,
      values: [petition?.confirmation ?? 'EMAIL'],
      choices: (['EMAIL', 'NONE'] as const).map((value) => ({ value, text: fields.confirmations[value] })),
    }),
    TextField(visit, {
      name: 'closesAt',
      label: fields.closesAt,
      value: petition?.closesAt?.slice(0, 16),
      type: 'datetime-local',
      isOptional: true,
    }),
    CheckField(visit, {
      name: 'publicComments',
      label: fields.publicComments,
      isTicked: petition?.publicComments ?? false,
    }),
    TextField(visit, {
      name: 'slug',
      label: posts.fields.slug,
      hint: posts.fields.slugHint,
      value: petition?.slug,
      max: 80,
      isOptional: true,
    }),
  ];
  const written = [
    TitleField(visit, { label: fields.title, hint: fields.titleHint, value: petition?.title }),
    AreaField(visit, {
      name: 'description',
      label: fields.description,
      value: petition?.description,
      isOptional: true,
    }),
    TextField(visit, {
      name: 'target',
      label: fields.target,
      hint: fields.targetHint,
      value: petition?.target,
      isOptional: true,
    }),
    TextField(visit, { name: 'ask', label: fields.ask, value: petition?.ask, isOptional: true }),
    TextField(visit, {
      name: 'goal',
      label: fields.goal,
      value: String(petition?.goal ?? DEFAULT_GOAL),
      type: 'number',
    }),
    await ImageField(visit, petition?.imageId),
    ContentField(visit, petition?.content, {
      label: posts.fields.content,
      hint: posts.fields.contentHint,
      foreign: posts.fields.foreign,
    }),
    // Open after an error, because the field with the error may be inside.
    html`<details${visit.refusal ? trusted(' open') : null}><summary>${fields.more}</summary>${more}</details>`,
  ];
  const button = petition ? petitions.save : petitions.saveDraft;
  const facts = askedOf(visit, { target: visit.typed('target'), ask: visit.typed('ask') });
  return html`<div class="text">${FormOf(visit, { fields: written, button, beside: PreviewButton(visit), of: petition })}</div>
    ${await PreviewOf(visit, petitions.add, { before: petition, facts })}`;
}

/**
 * Rejects a closing time in the past, which would close the petition before it opens.
 *
 * @param before the stored closing time, which is always allowed. @param fields the operation's input. Its other errors are reported
 *   together with this one.
 */
function requireOpen(
  visit: Visit,
  before: string | null,
  operation: string,
  fields: Record<string, unknown>,
): void {
  const closesAt = visit.typed('closesAt');
  if (closesAt === null || closesAt.slice(0, 16) === before?.slice(0, 16)) return;
  if (Date.parse(`${closesAt.slice(0, 16)}:00Z`) > Date.now()) return;
  throw invalid([...issuesOf(operation, fields), { path: 'closesAt', message: 'must be in the future' }]);
}

/** Errors that can be found without loading records. */
function issuesOf(operation: string, fields: Record<string, unknown>): Issue[] {
  try {
    parseInput(operationNamed(operation), fields, 'body');
    return [];
  } catch (error) {
    if (error instanceof RpcError && error.details.issues) return error.details.issues;
    throw error;
  }
}

/** @param before the stored closing time. It keeps its seconds if unchanged, because the form only shows minutes. */
function typedIn(visit: Visit, before: string | null = null): Record<string, unknown> {
  const { form } = visit;
  const closesAt = visit.typed('closesAt');
  return {
    ...typedTitle(visit),
    description: visit.typed('description'),
    target: visit.typed('target'),
    ask: visit.typed('ask'),
    goal: Number(visit.typed('goal') ?? Number.NaN),
    ...(form.has('imageId') ? { imageId: visit.typed('imageId') } : {}),
    ...(form.has('confirmation') ? { confirmation: form.get('confirmation') } : {}),
    closesAt:
      closesAt === null
        ? null
        : before?.startsWith(closesAt.slice(0, 16))
          ? before
          : `${closesAt.slice(0, 16)}:00Z`,
    publicComments: form.has('publicComments'),
    ...(visit.typed('slug') === null ? {} : { slug: visit.typed('slug') }),
    ...typedContent(visit),
  };
}
