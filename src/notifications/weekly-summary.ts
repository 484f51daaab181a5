import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { ReadSource } from '#libs/database';
import { mostFrequent, type RecordedEvent } from '#libs/event-store';
import { formatDate, formatNumber, localTime, momentAt } from '#libs/pages';
import { Resources } from '#libs/resources';
import { operationNamed, OperationRunner, systemContext } from '#libs/rpc';
import { type Due, type Subscription, Subscriptions, type Timer } from '#libs/subscriptions';
import { type Locale } from '#locales';
import { DailyCounts } from '../history/index.js';
import { organization } from '../organizations/index.js';
import { OfflineSignatures, petitions, PublicComments } from '../petitions/index.js';
import { notificationsFor } from './notification.js';
import { NotificationMails, type Text } from './notification-mails.js';

const CLOCK = 'weekly-summary';
const MAIL = 'weekly-summary-mail';
const HOUR = '08:00';
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** After this time without a running instance, last week is no longer news. */
const TOO_LATE_MS = 3 * DAY_MS;
const DAYS = 7;
/** Petitions and emails that a summary names. */
const MOST_NAMED = 5;
/** More comments are not counted. */
const MOST_COMMENTS = 1_000;

/** Sets the timer of each organization's summary when it is created and when its time zone changes. */
@Injectable()
export class WeeklySummaries implements Subscription {
  readonly name = 'weekly-summaries';
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
    const dueAt = nextSummary(id, timeZone, new Date());
    await this.subscriptions.timers.set(CLOCK, { organizationId: id, id, dueAt });
  }
}

/** Starts the summary of an organization, and sets its timer for the next one, whether or not the emails can be sent. */
@Injectable()
export class WeeklySummaryClock implements Timer {
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
    await timers.set(CLOCK, { organizationId, id, dueAt: nextSummary(organizationId, timeZone, after) });
  }
}

type Broadcast = { name: string; finishedAt: string | null; recipients: { sent: number | null } | null };
type Petition = { title: string; added: number; signatures: number; goal: number };

/** What happened in the week before a Monday. */
type Week = {
  /** The first and the last day, `2026-11-23`. */
  days: [string, string];
  signatures: number;
  contacts: number;
  unsubscribes: number;
  petitions: Petition[];
  broadcasts: Broadcast[];
  /** That wait for approval now. */
  comments: number;
};

/** Sends the summary of the week before the timer's day. */
@Injectable()
export class WeeklySummaryMail implements Timer {
  readonly name = MAIL;

  constructor(
    private readonly records: RecordReader,
    private readonly reads: ReadSource,
    private readonly runner: OperationRunner,
    private readonly counts: DailyCounts,
    private readonly resources: Resources,
    private readonly offline: OfflineSignatures,
    private readonly comments: PublicComments,
    private readonly mails: NotificationMails,
  ) {}

  async fire({ organizationId, dueAt }: Due, signal: AbortSignal): Promise<void> {
    const timeZone = await timeZoneOf(this.records, organizationId);
    if (timeZone === undefined) return;
    const week = await this.weekBefore(organizationId, timeZone, dueAt);
    await this.mails.send(
      {
        organizationId,
        notification: 'weeklySummary',
        id: week.days[0],
        write: (words, name, { role }) =>
          summaryOf(words, name, {
            ...week,
            comments: notificationsFor(role).includes('commentWaiting') ? week.comments : 0,
          }),
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
    const [petitions, broadcasts, comments] = await Promise.all([
      this.mostSigned(organizationId, from, to),
      this.sentBetween(organizationId, from, to),
      this.comments.waitingInAll(organizationId, MOST_COMMENTS),
    ]);
    return {
      ...{ days: [first, last], petitions, broadcasts, comments },
      ...{ signatures: sum('signatures'), contacts: sum('contacts'), unsubscribes: sum('unsubscribes') },
    };
  }

  private async mostSigned(organizationId: string, from: Date, to: Date): Promise<Petition[]> {
    const kind = { recordType: 'signature', type: 'PetitionSigned' };
    const found = await mostFrequent(this.reads, organizationId, [from, to], kind, 'petitionId', MOST_NAMED);
    const each = found.map(async ({ value: id, count: added }): Promise<Petition[]> => {
      const petition = await this.resources.find(petitions, organizationId, id);
      // It was deleted since.
      if (!petition) return [];
      const { title, goal, signatures } = petition as unknown as Petition;
      return [
        { title, added, goal, signatures: signatures + (await this.offline.total(organizationId, id)) },
      ];
    });
    return (await Promise.all(each)).flat();
  }

  private async sentBetween(organizationId: string, from: Date, to: Date): Promise<Broadcast[]> {
    const query = { status: 'SENT', sort: '-updatedAt', limit: String(MOST_NAMED) };
    const { records } = await this.runner.run<{ records: Broadcast[] }>(
      operationNamed('broadcast.list-broadcasts'),
      query,
      systemContext(organizationId, MAIL),
    );
    return records.filter(
      ({ finishedAt }) => finishedAt !== null && isBetween(new Date(finishedAt), from, to),
    );
  }
}

/** Undefined if nothing happened. */
function summaryOf(words: Locale, organizationName: string, week: Week): Text | undefined {
  const { signatures, contacts, unsubscribes, petitions: signed, broadcasts, comments: waiting } = week;
  if (signatures + contacts + unsubscribes + broadcasts.length + waiting === 0) return undefined;
  const { subject, text, figures, petition, broadcast, comments, button } =
    words.emails.notifications.weeklySummary;
  const { dates } = words.site;
  const number = (count: number) => formatNumber(dates, count);
  const day = (date: string) => formatDate(dates, { dateStyle: 'long', timeZone: 'UTC' }, new Date(date));
  const [first, last] = week.days;
  const paragraphs = [
    text(day(first), day(last)),
    [
      figures.signatures(number(signatures)),
      figures.contacts(number(contacts)),
      figures.unsubscribes(number(unsubscribes)),
    ].join('\n'),
    signed
      .map(({ title, added, ...now }) =>
        petition(title, added, {
          added: number(added),
          signatures: number(now.signatures),
          goal: number(now.goal),
        }),
      )
      .join('\n'),
    broadcasts
      .map(({ name, recipients }) => broadcast(name, recipients?.sent ?? 0, number(recipients?.sent ?? 0)))
      .join('\n'),
    waiting === 0 ? '' : comments(waiting, number(waiting)),
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
function nextSummary(organizationId: string, timeZone: string, after: Date): Date {
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
