import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { formatDate, formatNumber, localTime, momentAt } from '#libs/pages';
import { operationNamed, OperationRunner, systemContext } from '#libs/rpc';
import { type Due, type Subscription, Subscriptions, type Timer } from '#libs/subscriptions';
import { type Locale } from '#locales';
import { DailyCounts } from '../history/index.js';
import { organization } from '../organizations/index.js';
import { PublicComments, RecentSignatures } from '../petitions/index.js';
import { NotificationMails, type Text } from './notification-mails.js';

const CLOCK = 'weekly-digest';
const MAIL = 'weekly-digest-mail';
const HOUR = '08:00';
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** After this time without a running instance, last week is no longer news. */
const TOO_LATE_MS = 3 * DAY_MS;
const DAYS = 7;
/** Petitions and emails that a digest names, and those that it looks at. */
const [MOST_NAMED, MOST_READ] = [5, '100'];
/** More comments are not counted. */
const MOST_COMMENTS = 1_000;

/** Sets the timer of each organization's digest when it is created and when its time zone changes. */
@Injectable()
export class WeeklyDigests implements Subscription {
  readonly name = 'weekly-digests';
  readonly handles = ['OrganizationCreated', 'OrganizationUpdated'];
  readonly begins = 'at the first event';

  constructor(
    private readonly records: RecordReader,
    private readonly subscriptions: Subscriptions,
  ) {}

  choose(events: readonly RecordedEvent[]): RecordedEvent[] {
    return events.filter(({ type, data }) => type === 'OrganizationCreated' || data.timeZone !== undefined);
  }

  async handle({ organizationId: id }: RecordedEvent): Promise<void> {
    const timeZone = await timeZoneOf(this.records, id);
    if (timeZone === undefined) return;
    const dueAt = nextDigest(id, timeZone, new Date());
    await this.subscriptions.timers.set(CLOCK, { organizationId: id, id, dueAt });
  }
}

/** Starts the digest of an organization, and sets its timer for the next one, whether or not the emails can be sent. */
@Injectable()
export class WeeklyDigestClock implements Timer {
  readonly name = CLOCK;

  constructor(
    private readonly records: RecordReader,
    private readonly mails: NotificationMails,
    private readonly subscriptions: Subscriptions,
  ) {}

  async fire(due: Due): Promise<void> {
    const { organizationId, id, dueAt } = due;
    const timeZone = await timeZoneOf(this.records, organizationId);
    if (timeZone === undefined) return;
    await this.mails.forgetOld(organizationId);
    const { timers } = this.subscriptions;
    if (Date.now() - dueAt.getTime() < TOO_LATE_MS) await timers.set(MAIL, due);
    const after = new Date(Math.max(Date.now(), dueAt.getTime()));
    await timers.set(CLOCK, { organizationId, id, dueAt: nextDigest(organizationId, timeZone, after) });
  }
}

type Listed<T> = { records: T[] };
type Petition = {
  id: string;
  title: string;
  status: string;
  goal: number;
  signatures: number;
  comments: string;
};
type Broadcast = { name: string; finishedAt: string | null; recipients: { sent: number | null } | null };

/** What happened in the week before a Monday. */
type Week = {
  /** The first and the last day, `2026-11-23`. */
  days: [string, string];
  signatures: number;
  contacts: number;
  unsubscribes: number;
  petitions: (Petition & { added: number })[];
  broadcasts: Broadcast[];
  comments: number;
};

/** Sends the digest of the week before the timer's day. */
@Injectable()
export class WeeklyDigestMail implements Timer {
  readonly name = MAIL;

  constructor(
    private readonly records: RecordReader,
    private readonly runner: OperationRunner,
    private readonly counts: DailyCounts,
    private readonly signatures: RecentSignatures,
    private readonly comments: PublicComments,
    private readonly mails: NotificationMails,
  ) {}

  async fire({ organizationId, dueAt }: Due, signal: AbortSignal): Promise<void> {
    const timeZone = await timeZoneOf(this.records, organizationId);
    if (timeZone === undefined) return;
    const week = await this.weekBefore(organizationId, timeZone, dueAt);
    const { signatures, contacts, unsubscribes, broadcasts, comments } = week;
    if (signatures + contacts + unsubscribes + broadcasts.length + comments === 0) return;
    await this.mails.send(
      {
        organizationId,
        notification: 'weeklyDigest',
        id: week.days[0],
        write: (words, name) => digestOf(words, name, week),
      },
      signal,
    );
  }

  private async weekBefore(organizationId: string, timeZone: string, moment: Date): Promise<Week> {
    const days = await this.counts.of(organizationId, timeZone, DAYS + 1, moment);
    const monday = days.pop()!.date;
    const [first, last] = [days[0]!.date, days.at(-1)!.date];
    const [from, to] = [first, monday].map((date) => momentAt(timeZone, `${date}T00:00`)!) as [Date, Date];
    const sum = (name: 'signatures' | 'contacts' | 'unsubscribes') =>
      days.reduce((total, day) => total + day[name], 0);
    const context = systemContext(organizationId, MAIL);
    const list = async <T>(name: string, fields: object): Promise<T[]> => {
      const query = { limit: MOST_READ, ...fields };
      return (await this.runner.run<Listed<T>>(operationNamed(name), query, context)).records;
    };
    const [open, sent] = await Promise.all([
      list<Petition>('petition.list-petitions', { status: 'PUBLISHED' }),
      list<Broadcast>('broadcast.list-broadcasts', { status: 'SENT', sort: '-updatedAt' }),
    ]);
    const ids = open.map(({ id }) => id);
    const added = await this.signatures.between(organizationId, ids, from, to);
    const waiting = open
      .filter((petition) => petition.comments === 'APPROVED')
      .map(({ id }) => this.comments.waiting(organizationId, id, MOST_COMMENTS));
    return {
      days: [first, last],
      signatures: sum('signatures'),
      contacts: sum('contacts'),
      unsubscribes: sum('unsubscribes'),
      petitions: open
        .map((petition) => ({ ...petition, added: added.get(petition.id) ?? 0 }))
        .filter((petition) => petition.added > 0)
        .toSorted((one, other) => other.added - one.added)
        .slice(0, MOST_NAMED),
      broadcasts: sent
        .filter(({ finishedAt }) => finishedAt !== null && isBetween(new Date(finishedAt), from, to))
        .slice(0, MOST_NAMED),
      comments: (await Promise.all(waiting)).reduce((total, count) => total + count, 0),
    };
  }
}

function digestOf(words: Locale, organizationName: string, week: Week): Text {
  const { subject, text, figures, petition, broadcast, comments, button } =
    words.emails.notifications.weeklyDigest;
  const { dates } = words.site;
  const number = (count: number) => formatNumber(dates, count);
  const day = (date: string) => formatDate(dates, { dateStyle: 'long', timeZone: 'UTC' }, new Date(date));
  const [first, last] = week.days;
  const lines = [
    figures.signatures(number(week.signatures)),
    figures.contacts(number(week.contacts)),
    figures.unsubscribes(number(week.unsubscribes)),
  ];
  const paragraphs = [
    text(day(first), day(last)),
    lines.join('\n'),
    week.petitions
      .map(({ title, added, signatures, goal }) =>
        petition({ title, added: number(added), signatures: number(signatures), goal: number(goal) }),
      )
      .join('\n'),
    week.broadcasts
      .map(({ name, recipients }) => broadcast(name, recipients?.sent ?? 0, number(recipients?.sent ?? 0)))
      .join('\n'),
    week.comments === 0 ? '' : comments(week.comments, number(week.comments)),
  ];
  return {
    subject: subject(organizationName),
    paragraphs: paragraphs.filter((paragraph) => paragraph !== ''),
    button: { path: '', text: button },
  };
}

function isBetween(moment: Date, from: Date, to: Date): boolean {
  return moment >= from && moment < to;
}

/** Undefined if the organization does not exist. */
async function timeZoneOf(records: RecordReader, organizationId: string): Promise<string | undefined> {
  const { state } = await records.look(organization, organizationId, organizationId);
  return state.status === 'unknown' ? undefined : state.timeZone;
}

/**
 * The next Monday at eight in the organization's time zone. Each organization has its own minute in that hour, because
 * thousands may share a server.
 */
function nextDigest(organizationId: string, timeZone: string, after: Date): Date {
  const minute = Number.parseInt(organizationId.slice(-4), 16) % 60;
  const today = Date.parse(localTime(timeZone, after).slice(0, 10));
  for (let days = 0; ; days += 1) {
    const date = new Date(today + days * DAY_MS);
    if (date.getUTCDay() !== 1) continue;
    const start = momentAt(timeZone, `${date.toISOString().slice(0, 10)}T${HOUR}`)!;
    const moment = new Date(start.getTime() + minute * MINUTE_MS);
    if (moment > after) return moment;
  }
}
