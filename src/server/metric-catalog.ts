import { type DataSource } from 'typeorm';
import { poolUse, wideQueries } from '#libs/database';
import { type EventStore } from '#libs/event-store';
import { type Distribution } from '#libs/measures';
import { type Mailer } from '#libs/mail';
import { type Projections } from '#libs/projections';
import { type Concurrency, decisions, type RateLimitStatus } from '#libs/rate-limit';
import { errorAnswers, streamsOpen, unreadBytes } from '#libs/rpc';
import { type Subscriptions, type SubscriptionStatus } from '#libs/subscriptions';
import { type DatabaseMonitor, type RequestCounts, standardOutput } from '#libs/operations';
import { type Cosigning } from '../audit/index.js';
import { type SelfCheck } from '../self-check/index.js';
import { type Backlog, type DatabaseFacts } from './scraped-database.js';

/** The owners of the counters. */
export type Sources = {
  version: string;
  requests: RequestCounts;
  concurrency: Concurrency;
  rateLimit: RateLimitStatus;
  store: EventStore;
  watch: DatabaseMonitor;
  projections: Projections;
  pools: Record<string, DataSource>;
  main: DataSource;
  selfCheck: SelfCheck;
  cosigning: Cosigning;
  subscriptions: Subscriptions;
  mailer: Pick<Mailer, 'load' | 'outcomes' | 'lastAt'>;
  images: { readonly use: { running: number; waiting: number; turnedAway: number } };
};

type Labels = Record<string, string>;
type Sample = { value: number; labels?: Labels; metricName?: string };

export type Metric = {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  /** Names of its labels. Their values come from closed lists, never from clients. */
  labels?: readonly string[];
  read: (sources: Sources, database: DatabaseFacts) => Sample[];
};

/**
 * All metrics except those that prom-client reports for any process. Nothing is counted here. Libraries always count, and a scrape
 * reads their counters.
 */
export const METRICS: readonly Metric[] = [
  {
    name: 'advocacy_info',
    type: 'gauge',
    help: 'Always 1. The label is the version of this program.',
    labels: ['version'],
    read: ({ version }) => [{ value: 1, labels: { version } }],
  },
  {
    name: 'advocacy_requests_total',
    type: 'counter',
    help: 'Requests by operation ("none": an unknown path) and status ("aborted": the client disconnected).',
    labels: ['operation', 'status'],
    read: ({ requests }) =>
      requests
        .entries()
        .flatMap(([operation, { statuses }]) =>
          statuses.entries().map(([status, value]) => ({ value, labels: { operation, status } })),
        ),
  },
  {
    name: 'advocacy_request_duration_seconds',
    type: 'histogram',
    help: 'Seconds from the request to the end of the response, by operation.',
    labels: ['operation'],
    read: ({ requests }) =>
      requests
        .entries()
        .flatMap(([operation, { seconds }]) =>
          histogram('advocacy_request_duration_seconds', seconds, { operation }),
        ),
  },
  {
    name: 'advocacy_requests_in_flight',
    type: 'gauge',
    help: 'Requests in progress.',
    read: ({ concurrency }) => [{ value: concurrency.load.requests }],
  },
  {
    name: 'advocacy_errors_total',
    type: 'counter',
    help: 'Error responses by error.reason, or by error.code if there is no reason. OVERLOADED, CONCURRENCY and DEADLINE_EXCEEDED count shed requests.',
    labels: ['reason'],
    read: () => errorAnswers.entries().map(([reason, value]) => ({ value, labels: { reason } })),
  },
  {
    name: 'advocacy_late_total',
    type: 'counter',
    help: 'Checks, four per second, in which the event loop was more than half a second late.',
    read: ({ concurrency }) => [{ value: concurrency.load.late }],
  },
  {
    name: 'advocacy_shedding',
    type: 'gauge',
    help: '1 while each caller is limited to fewer concurrent requests because the event loop was late.',
    read: ({ concurrency }) => [{ value: Number(concurrency.load.isShedding) }],
  },
  {
    name: 'advocacy_streams_open',
    type: 'gauge',
    help: 'Imports and exports in progress.',
    read: () => [{ value: streamsOpen() }],
  },
  {
    name: 'advocacy_unread_answer_bytes',
    type: 'gauge',
    help: 'Bytes of responses that clients have not read yet.',
    read: () => [{ value: unreadBytes() }],
  },
  {
    name: 'advocacy_limiter_decisions_total',
    type: 'counter',
    help: 'Requests that a rate limit allowed, and those that it rejected.',
    labels: ['decision'],
    read: () => decisions.entries().map(([decision, value]) => ({ value, labels: { decision } })),
  },
  {
    name: 'advocacy_redis_fallback',
    type: 'gauge',
    help: '1 while Redis is unavailable and this instance applies rate limits on its own.',
    read: ({ rateLimit }) => [{ value: Number(rateLimit.describe() === 'local') }],
  },
  {
    name: 'advocacy_redis_fallbacks_total',
    type: 'counter',
    help: 'How often the connection to Redis was lost.',
    read: ({ rateLimit }) => [{ value: rateLimit.fallbacks }],
  },
  {
    name: 'advocacy_append_batch_commands',
    type: 'histogram',
    help: 'Commands per append call.',
    read: ({ store }) => histogram('advocacy_append_batch_commands', store.appends.batches),
  },
  {
    name: 'advocacy_append_call_seconds',
    type: 'histogram',
    help: 'Seconds per append call, including the commit.',
    read: ({ store }) => histogram('advocacy_append_call_seconds', store.appends.callSeconds),
  },
  {
    name: 'advocacy_append_calls_in_flight',
    type: 'gauge',
    help: 'Append calls in progress, at most 2.',
    read: ({ store }) => [{ value: store.appends.load.calls }],
  },
  {
    name: 'advocacy_append_queue',
    type: 'gauge',
    help: 'Commands that wait for an append call.',
    read: ({ store }) => [{ value: store.appends.load.waiting }],
  },
  {
    name: 'advocacy_projection_lag_positions',
    type: 'gauge',
    help: 'Positions of the log that a projection has not applied yet, at the last background check.',
    labels: ['projection'],
    read: ({ projections }) =>
      (projections.lastSeen?.statuses ?? []).map(({ name, lag }) => ({
        value: lag,
        labels: { projection: name },
      })),
  },
  {
    name: 'advocacy_projection_failing',
    type: 'gauge',
    help: '1 while a projection is stopped at an event that it cannot apply.',
    labels: ['projection'],
    read: ({ projections }) =>
      (projections.lastSeen?.statuses ?? []).map(({ name, failure }) => ({
        value: Number(failure !== null),
        labels: { projection: name },
      })),
  },
  {
    name: 'advocacy_projections_seen_seconds',
    type: 'gauge',
    help: 'Seconds since the last background check of the projections. Up to ten while there are no events.',
    read: ({ projections: { lastSeen } }) =>
      lastSeen ? [{ value: (performance.now() - lastSeen.at) / 1_000 }] : [],
  },
  {
    name: 'advocacy_last_position',
    type: 'gauge',
    help: 'The last position of the log that any instance allocated.',
    read: (_, { last }) => (last === undefined ? [] : [{ value: last }]),
  },
  {
    name: 'advocacy_seal_lag_positions',
    type: 'gauge',
    help: 'Positions of the log that no instance has sealed yet.',
    read: (_, { sealed, last }) =>
      sealed === undefined || last === undefined ? [] : [{ value: Math.max(0, last - sealed) }],
  },
  {
    name: 'advocacy_refused_organizations',
    type: 'gauge',
    help: 'Quarantined organizations: their stored history differs from what was signed, so sealing stopped. The log of all organizations counts as one.',
    read: (_, { refused }) => (refused === undefined ? [] : [{ value: refused }]),
  },
  {
    name: 'advocacy_self_check_findings',
    type: 'gauge',
    help: 'Histories and projections in which the self-check found differences.',
    read: ({ selfCheck: { lastSeen } }) => (lastSeen ? [{ value: lastSeen.findings.length }] : []),
  },
  {
    name: 'advocacy_self_check_overdue',
    type: 'gauge',
    help: 'Histories and projections whose check is overdue by more than VERIFY_EVERY.',
    read: ({ selfCheck: { lastSeen } }) =>
      lastSeen ? [{ value: lastSeen.subjects - lastSeen.current }] : [],
  },
  {
    name: 'advocacy_contradicted_organizations',
    type: 'gauge',
    help: 'Organizations whose history a witness contradicts, because it has cosigned a different one. The log of all organizations counts as one.',
    read: ({ cosigning: { lastSeen } }) => [{ value: lastSeen?.contradicted ?? 0 }],
  },
  {
    name: 'advocacy_witnesses_failing',
    type: 'gauge',
    help: 'Witnesses that fail or return invalid responses. Only the instance that queries them reports a number; the others report 0.',
    read: ({ cosigning: { lastSeen } }) => [{ value: lastSeen?.failing ?? 0 }],
  },
  {
    name: 'advocacy_subscription_lag_positions',
    type: 'gauge',
    help: 'Positions of the log that a subscription has not reached yet on any instance.',
    labels: ['subscription'],
    read: ({ subscriptions }) => ofEach(subscriptions, ({ lag }) => lag),
  },
  {
    name: 'advocacy_subscription_retrying',
    type: 'gauge',
    help: 'Events that a subscription will retry, because they failed or wait for a failed event of their stream.',
    labels: ['subscription'],
    read: ({ subscriptions }) => ofEach(subscriptions, ({ retrying }) => retrying),
  },
  {
    name: 'advocacy_subscription_parked',
    type: 'gauge',
    help: 'Dead-lettered events of a subscription. An operator must retry or skip them.',
    labels: ['subscription'],
    read: ({ subscriptions }) => ofEach(subscriptions, ({ parked }) => parked),
  },
  {
    name: 'advocacy_mail_waiting',
    type: 'gauge',
    help: 'Messages that this instance is sending: they wait for their turn or for the mail server’s reply. Those that wait for a later attempt are in advocacy_subscription_retrying and advocacy_broadcast_recipients_waiting.',
    read: ({ mailer }) => [{ value: mailer.load.messages }],
  },
  {
    name: 'advocacy_mail_oldest_seconds',
    type: 'gauge',
    help: 'Seconds that the oldest of these messages has waited. 0 if there are none.',
    read: ({ mailer }) => [{ value: mailer.load.oldestSeconds }],
  },
  {
    name: 'advocacy_mail_outcomes_total',
    type: 'counter',
    help: 'Attempts to send a message by outcome: sent, deferred (will be retried), rejected (permanently), unreachable (the mail server), in-doubt.',
    labels: ['outcome'],
    read: ({ mailer }) =>
      mailer.outcomes.entries().map(([outcome, value]) => ({ value, labels: { outcome } })),
  },
  {
    name: 'advocacy_mail_last_sent_timestamp_seconds',
    type: 'gauge',
    help: 'When this instance last sent a message, in seconds since 1970. 0 if it has sent none.',
    read: ({ mailer }) => [{ value: mailer.lastAt.sent / 1_000 }],
  },
  {
    name: 'advocacy_mail_last_unreachable_timestamp_seconds',
    type: 'gauge',
    help: 'When this instance last failed to reach the mail server. If no instance has sent a message since, the mail server is down.',
    read: ({ mailer }) => [{ value: mailer.lastAt.unreachable / 1_000 }],
  },
  {
    name: 'advocacy_broadcast_recipients_waiting',
    type: 'gauge',
    help: 'Recipients of unfinished broadcasts who have not been sent their message yet, including paused broadcasts.',
    read: backlog('recipientsWaiting'),
  },
  {
    name: 'advocacy_broadcast_recipients_in_doubt',
    type: 'gauge',
    help: 'Recipients of the newest 1,000 broadcasts whose message may or may not have been sent. To send it again, use broadcast.retry-recipients.',
    read: backlog('recipientsInDoubt'),
  },
  {
    name: 'advocacy_broadcast_oldest_due_seconds',
    type: 'gauge',
    help: 'Seconds that the oldest unsent message of an active broadcast is overdue.',
    read: backlog('recipientSeconds'),
  },
  {
    name: 'advocacy_webhooks_behind',
    type: 'gauge',
    help: 'Active webhooks with unsent events, at most 10,000.',
    read: backlog('webhooksBehind'),
  },
  {
    name: 'advocacy_webhook_retries_due',
    type: 'gauge',
    help: 'Deliveries to active webhooks whose retry is due, at most 10,000.',
    read: backlog('webhookRetriesDue'),
  },
  {
    name: 'advocacy_webhook_oldest_retry_seconds',
    type: 'gauge',
    help: 'Seconds that the oldest of these retries is overdue.',
    read: backlog('webhookRetrySeconds'),
  },
  {
    name: 'advocacy_imports_running',
    type: 'gauge',
    help: 'Unfinished background imports and undos of imports, at most 10,000 of each.',
    read: backlog('importsRunning'),
  },
  {
    name: 'advocacy_import_oldest_seconds',
    type: 'gauge',
    help: 'Seconds since any instance last worked on the oldest of these.',
    read: backlog('importSeconds'),
  },
  {
    name: 'advocacy_timers_overdue',
    type: 'gauge',
    help: 'Timers that are due but have not fired, at most 10,000.',
    read: backlog('timersOverdue'),
  },
  {
    name: 'advocacy_timer_oldest_seconds',
    type: 'gauge',
    help: 'Seconds that the oldest of these timers is overdue.',
    read: backlog('timerSeconds'),
  },
  {
    name: 'advocacy_images',
    type: 'gauge',
    help: 'Uploaded images that this instance is rendering, and those that wait their turn.',
    labels: ['state'],
    read: ({ images: { use } }) => [
      { value: use.running, labels: { state: 'running' } },
      { value: use.waiting, labels: { state: 'waiting' } },
    ],
  },
  {
    name: 'advocacy_images_refused_total',
    type: 'counter',
    help: 'Uploaded images rejected because they waited too long for their turn.',
    read: ({ images }) => [{ value: images.use.turnedAway }],
  },
  {
    name: 'advocacy_database_up',
    type: 'gauge',
    help: '1 if the database responded to this scrape within a second. Otherwise, its metrics are the last known values.',
    read: (_, { answered }) => [{ value: Number(answered) }],
  },
  {
    name: 'advocacy_ready',
    type: 'gauge',
    help: '0 while this instance cannot read from or write to the database, so that /health/ready returns 503.',
    read: ({ watch }) => [{ value: Number(watch.unreadiness === undefined) }],
  },
  {
    name: 'advocacy_pool_size',
    type: 'gauge',
    help: 'Maximum number of connections that a pool may open to PostgreSQL.',
    labels: ['pool'],
    read: (sources) => ofPools(sources, ({ most }) => [{ value: most }]),
  },
  {
    name: 'advocacy_pool_connections',
    type: 'gauge',
    help: 'Busy and idle connections of a pool.',
    labels: ['pool', 'state'],
    read: (sources) =>
      ofPools(sources, ({ busy, idle }) => [
        { value: busy, labels: { state: 'busy' } },
        { value: idle, labels: { state: 'idle' } },
      ]),
  },
  {
    name: 'advocacy_pool_waiting',
    type: 'gauge',
    help: 'Statements that wait for a connection from a pool.',
    labels: ['pool'],
    read: (sources) => ofPools(sources, ({ waiting }) => [{ value: waiting }]),
  },
  {
    name: 'advocacy_wide_queries',
    type: 'gauge',
    help: 'Lists, searches and export pages that are running, and those that wait for their organization’s turn.',
    labels: ['state'],
    read: ({ main }) => {
      const { running, waiting } = wideQueries(main);
      return [
        { value: running, labels: { state: 'running' } },
        { value: waiting, labels: { state: 'waiting' } },
      ];
    },
  },
  {
    name: 'advocacy_wide_queries_refused_total',
    type: 'counter',
    help: 'Lists, searches and export pages rejected because they waited too long for their turn.',
    read: ({ main }) => [{ value: wideQueries(main).turnedAway }],
  },
  {
    name: 'advocacy_log_lines_dropped_total',
    type: 'counter',
    help: 'Log lines dropped because they could not be written: no process reads them, or the disk is full.',
    read: () => [{ value: standardOutput.droppedInAll }],
  },
];

/** A value that was last read from the database. It is the same for every instance. */
function backlog(name: keyof Backlog): Metric['read'] {
  return (_, { [name]: value }) => (value === undefined ? [] : [{ value }]);
}

/** A value per subscription, as this instance last read it. */
function ofEach({ lastSeen = [] }: Subscriptions, value: (status: SubscriptionStatus) => number): Sample[] {
  return lastSeen.map((status) => ({ value: value(status), labels: { subscription: status.name } }));
}

function histogram(name: string, distribution: Distribution, labels: Labels = {}): Sample[] {
  const counts = distribution.cumulative();
  const bounds = [...distribution.bounds.map(String), '+Inf'];
  return [
    ...counts.map((value, n) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le: bounds[n]! },
      value,
    })),
    { metricName: `${name}_sum`, labels, value: distribution.sum },
    { metricName: `${name}_count`, labels, value: counts.at(-1)! },
  ];
}

function ofPools({ pools }: Sources, read: (use: ReturnType<typeof poolUse>) => Sample[]): Sample[] {
  return Object.entries(pools).flatMap(([pool, source]) =>
    read(poolUse(source)).map(({ value, labels }) => ({ value, labels: { pool, ...labels } })),
  );
}
