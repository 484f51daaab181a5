import { html, type Html, trusted } from '#libs/pages';
import { type Counted, DailyCounts } from '../history/index.js';
import { RecentSignatures } from '../petitions/index.js';
import { type BroadcastRecord, type Recipients } from './broadcasts/broadcast.js';
import { BarsOf, Figure } from './charts.js';
import { type ContactRecord, nameOf } from './contacts/contact.js';
import { type PageDefinition } from './page.js';
import {
  BadgeOf,
  ButtonLink,
  Actions,
  dateIn,
  Folded,
  MomentOf,
  numberIn,
  Progress,
  SectionOf,
} from './parts.js';
import { waitingComments } from './petitions/pages.js';
import { type PetitionRecord, signaturesOf } from './petitions/petition.js';
import { type PageContext } from './page-context.js';
import { timeZoneOf } from './time-zone.js';

/** Number of records that a card shows. */
const LIMIT = 5;
/** The newest emails among which drafts and problems are looked for. */
const RECENT_EMAILS = 25;
/** Days in the charts, and those whose sum is below each figure. */
const [DAYS, LATELY] = [30, 7];

/** What happened this week, and what needs attention. Each card requires the scope to read its records. */
export const homePages: PageDefinition[] = [
  {
    path: '',
    needs: null,
    show: async (context) => {
      const { words } = context;
      const [petitions, emails] = await Promise.all([
        listOf<PetitionRecord>(context, 'petition', { status: 'PUBLISHED' }),
        listOf<BroadcastRecord>(context, 'broadcast', { limit: RECENT_EMAILS }),
      ]);
      const [days, steps, ...cards] = await Promise.all([
        DaysOf(context),
        StepsOf(context, petitions),
        PetitionsOf(context, petitions),
        AttentionOf(context, emails),
        ContactsOf(context),
      ]);
      return context.view.page({
        section: 'overview',
        title: words.sections.overview,
        content: html`${steps} ${FirstActions(context)} ${days}
          <div class="pair">${cards} ${EmailsOf(context, emails.slice(0, LIMIT))}</div>`,
      });
    },
  },
];

type Listed<T> = { records: T[] };

async function listOf<T>({ api, person }: PageContext, service: string, fields: object): Promise<T[]> {
  if (!person.may(`${service}:read`)) return [];
  return (await api.run<Listed<T>>(`${service}.list-${service}s`, { limit: LIMIT, ...fields })).records;
}

async function PetitionsOf(context: PageContext, petitions: readonly PetitionRecord[]): Promise<Html | null> {
  const { words, address, person } = context;
  if (!person.may('petition:read')) return null;
  const { home, petitions: texts } = words;
  const WaitingOf = await waitingComments(context, petitions);
  const each = petitions.map(
    (petition) => html`<h3><a href="${address.path(`petitions/${petition.id}`)}">${petition.title}</a></h3>
      ${Progress({
        words,
        name: petition.id,
        label: texts.signatures,
        value: signaturesOf(petition),
        max: petition.goal,
      })}
      ${signaturesOf(petition) >= petition.goal ? html`<p class="small">${home.reached}</p>` : null}
      ${WaitingOf(petition)}`,
  );
  return SectionOf(home.open, [
    ...(petitions.length === 0 ? [html`<p>${home.noneOpen}</p>`] : each),
    petitions.length < LIMIT ? null : html`<p><a href="${address.path('petitions')}">${home.all}</a></p>`,
  ]);
}

/** Drafts, suspicious signatures, problems of the last emails, and webhooks that no longer deliver. */
async function AttentionOf(context: PageContext, emails: readonly BroadcastRecord[]): Promise<Html | null> {
  const { words, address, api, person } = context;
  const { attention } = words.home;
  const [petitions, webhooks, suspicious] = await Promise.all([
    listOf<PetitionRecord>(context, 'petition', { status: 'DRAFT' }),
    listOf<{ id: string; url: string; status: string }>(context, 'webhook', { limit: 100 }),
    person.may('petition:read') ? api.find(RecentSignatures).suspiciousLately(api.organizationId) : [],
  ]);
  const item = (to: string, name: string, text: string) =>
    html`<li><a href="${address.path(to)}">${name}</a><p class="small">${text}</p></li>`;
  const missed = ({ failed, inDoubt }: Recipients) => (failed ?? 0) + (inDoubt ?? 0);
  const kinds: Html[][] = [
    webhooks
      .filter(({ status }) => status === 'DISABLED' || status === 'FAILING')
      .map(({ id, url, status }) =>
        // Without https://, most addresses fit on one line of a phone.
        item(
          `webhooks/${id}`,
          url.replace(/^https:\/\//, ''),
          status === 'FAILING' ? attention.failing : attention.webhook,
        ),
      ),
    emails.flatMap(({ id, name, status, recipients }) =>
      status === 'SENT' && recipients && missed(recipients) > 0
        ? item(`broadcasts/${id}`, name, attention.missed(numberIn(words, missed(recipients))))
        : [],
    ),
    suspicious.map(({ petitionId, title, signatures }) =>
      item(`petitions/${petitionId}/signatures?suspicious=true`, title, attention.suspicious(signatures)),
    ),
    petitions.map(({ id, title }) => item(`petitions/${id}`, title, attention.petition)),
    emails
      .filter(({ status }) => status === 'DRAFT')
      .map(({ id, name }) => item(`broadcasts/${id}`, name, attention.email)),
  ];
  // The first of each kind first, so that many of one kind do not hide the others.
  const most = Math.max(...kinds.map(({ length }) => length));
  const items = Array.from({ length: most }, (_, n) => kinds.flatMap((kind) => kind[n] ?? [])).flat();
  if (items.length === 0) return null;
  const rowsOf = (some: readonly Html[]) => html`<ul class="past">${some}</ul>`;
  const others = items.slice(LIMIT);
  return SectionOf(attention.title, [
    rowsOf(items.slice(0, LIMIT)),
    others.length === 0 ? null : Folded(words.moreRows(others.length), rowsOf(others)),
  ]);
}

/** What happened each day, as far as the role may read it. Nothing while nothing has happened. */
async function DaysOf(context: PageContext): Promise<Html | null> {
  const { words, person, api } = context;
  const { days: texts } = words.home;
  const needs = { signatures: 'petition:read', contacts: 'contact:read', unsubscribes: 'contact:read' };
  const shown = (Object.keys(needs) as Counted[]).filter((name) => person.may(needs[name]));
  if (shown.length === 0) return null;
  const days = await api.find(DailyCounts).of(api.organizationId, await timeZoneOf(context), DAYS);
  const sum = (some: typeof days, name: Counted) => some.reduce((total, day) => total + day[name], 0);
  if (shown.every((name) => sum(days, name) === 0)) return null;
  const nameOfDay = ({ date }: { date: string }) => dateIn(words, date);
  const charts = shown.map((name) => {
    const bars = days.map((day) => ({ name: nameOfDay(day), value: day[name] }));
    return html`<div>
      <h3>${texts.counted[name]}</h3>
      <p class="figure">${numberIn(words, sum(days, name))}</p>
      <p class="small">${texts.lately(numberIn(words, sum(days.slice(-LATELY), name)))}</p>
      ${BarsOf({ words, title: texts.counted[name], bars })}
    </div>`;
  });
  return SectionOf(texts.title, [
    Figure(words, html`<div class="charts">${charts}</div>`, {
      caption: texts.title,
      columns: [
        { name: words.petitions.stats.day },
        ...shown.map((name) => ({ name: texts.counted[name], isNumber: true })),
      ],
      rows: days
        .toReversed()
        .map((day) => [nameOfDay(day), ...shown.map((name) => numberIn(words, day[name]))]),
    }),
    html`<p class="small">${texts.note}</p>`,
  ]);
}

async function ContactsOf(context: PageContext): Promise<Html | null> {
  const { words, address } = context;
  const contacts = await listOf<ContactRecord & { createdAt: string }>(context, 'contact', {});
  if (contacts.length === 0) return null;
  return SectionOf(words.home.newContacts, [
    html`<ul class="past">
      ${contacts.map(
        (contact) =>
          html`<li class="ends"><a href="${address.path(`contacts/${contact.id}`)}">${nameOf(contact)}</a> ${MomentOf(words, new Date(contact.createdAt))}</li>`,
      )}
    </ul>`,
    html`<p><a href="${address.path('contacts')}">${words.home.all}</a></p>`,
  ]);
}

/** The last emails and how many people they reached. */
function EmailsOf({ words, address }: PageContext, emails: readonly BroadcastRecord[]): Html | null {
  if (emails.length === 0) return null;
  return SectionOf(words.home.lastEmails, [
    html`<ul class="past">
      ${emails.map(
        ({ id, name, status, recipients }) => html`<li>
          <p class="ends"><a href="${address.path(`broadcasts/${id}`)}">${name}</a> ${BadgeOf(status, words.broadcasts.statuses[status])}</p>
          ${
            recipients?.sent === undefined || recipients.sent === null
              ? null
              : html`<p class="small">${words.broadcasts.figures.sent}: ${words.ofAll(numberIn(words, recipients.sent), numberIn(words, recipients.total))}</p>`
          }
        </li>`,
      )}
    </ul>`,
    html`<p><a href="${address.path('broadcasts')}">${words.home.all}</a></p>`,
  ]);
}

/** A checklist for new organizations, which ticks itself off and disappears. Only people who may set the organization up see it. */
async function StepsOf(context: PageContext, open: readonly PetitionRecord[]): Promise<Html | null> {
  const { words, person, address, api } = context;
  if (!person.may('organization:write')) return null;
  type Organization = { colour: string | null; mailFrom: { address: string | null } | null };
  const { colour, mailFrom } = await api.run<Organization>('organization.get-organization', {
    organizationId: api.organizationId,
  });
  const hasSender = (mailFrom?.address ?? null) !== null;
  if (colour !== null && hasSender && open.length > 0) return null;
  const [contacts, petitions] = await Promise.all([
    listOf(context, 'contact', { limit: 1 }),
    open.length > 0 ? open : listOf(context, 'petition', { limit: 1 }),
  ]);
  const { checklist } = words.home;
  const steps = [
    { isDone: colour !== null, to: 'organization/pages', text: checklist.colour },
    { isDone: hasSender, to: 'organization/mails', text: checklist.sender },
    { isDone: contacts.length > 0, to: 'contacts/import', text: checklist.contacts },
    { isDone: petitions.length > 0, to: 'petitions/new', text: checklist.petition },
  ];
  if (steps.every(({ isDone }) => isDone)) return null;
  return html`<section class="sheet"><h2>${checklist.title}</h2>
    <ol class="checklist">
      ${steps.map(
        ({ isDone, to, text }) =>
          html`<li${isDone ? trusted(' class="ticked"') : null}>${isDone ? html`${text} <span class="small">${checklist.done}</span>` : html`<a href="${address.path(to)}">${text}</a>`}</li>`,
      )}
    </ol>
  </section>`;
}

/** What people do most often, if their role allows it. */
function FirstActions({ words, person, address }: PageContext): Html | null {
  const action = (needs: string, to: string, text: string, isPlain = true) =>
    person.may(needs) ? ButtonLink(address, to, text, isPlain) : null;
  const actions = [
    action('broadcast:write', 'broadcasts/new', words.broadcasts.add, false),
    action('petition:write', 'petitions/new', words.petitions.add),
    action('contact:write', 'contacts/import', words.contacts.import),
    action('team:write', 'team/invite', words.team.invite),
    action('history:read', 'history/verify', words.history.verify),
  ];
  return Actions(actions, words);
}
