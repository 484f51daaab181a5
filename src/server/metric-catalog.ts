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
/** `part`: of a histogram. */
type Sample = { value: number; labels?: Labels; part?: string };

/** A metric without labels has one value, or none while it is unknown. */
type Read = (sources: Sources, database: DatabaseFacts) => Sample[] | number | undefined;

/** @param labels their names. Their values come from closed lists, never from clients. */
const ofType =
  (type: 'counter' | 'gauge' | 'histogram') =>
  (help: string, read: Read, labels: readonly string[] = []) => ({ type, help, read, labels });
const [counter, gauge, histogram] = [ofType('counter'), ofType('gauge'), ofType('histogram')];

const CATALOG = {
  advocacy_info: gauge(
    'Always 1. The label is the version of this program.',
    ({ version }) => by('version', [[version, 1]]),
    ['version'],
  ),
  advocacy_requests_total: counter(
    'Requests by operation ("none": an unknown path) and status ("aborted": the client disconnected).',
    ({ requests }) =>
      requests
        .entries()
        .flatMap(([operation, { statuses }]) =>
          statuses.entries().map(([status, value]) => ({ value, labels: { operation, status } })),
        ),
    ['operation', 'status'],
  ),
  advocacy_request_duration_seconds: histogram(
    'Seconds from the request to the end of the response, by operation.',
    ({ requests }) =>
      requests.entries().flatMap(([operation, { seconds }]) => distribution(seconds, { operation })),
    ['operation'],
  ),
  advocacy_requests_in_flight: gauge('Requests in progress.', ({ concurrency }) => concurrency.load.requests),
  advocacy_errors_total: counter(
    'Error responses by error.reason, or by error.code if there is no reason. OVERLOADED, CONCURRENCY and DEADLINE_EXCEEDED count shed requests.',
    () => by('reason', errorAnswers.entries()),
    ['reason'],
  ),
  advocacy_late_total: counter(
    'Checks, four per second, in which the event loop was more than half a second late.',
    ({ concurrency }) => concurrency.load.late,
  ),
  advocacy_shedding: gauge(
    '1 while each caller is limited to fewer concurrent requests because the event loop was late.',
    ({ concurrency }) => Number(concurrency.load.isShedding),
  ),
  advocacy_streams_open: gauge('Imports and exports in progress.', () => streamsOpen()),
  advocacy_unread_answer_bytes: gauge('Bytes of responses that clients have not read yet.', () =>
    unreadBytes(),
  ),
  advocacy_limiter_decisions_total: counter(
    'Requests that a rate limit allowed, and those that it rejected.',
    () => by('decision', decisions.entries()),
    ['decision'],
  ),
  advocacy_redis_fallback: gauge(
    '1 while Redis is unavailable and this instance applies rate limits on its own.',
    ({ rateLimit }) => Number(rateLimit.describe() === 'local'),
  ),
  advocacy_redis_fallbacks_total: counter(
    'How often the connection to Redis was lost.',
    ({ rateLimit }) => rateLimit.fallbacks,
  ),
  advocacy_append_batch_commands: histogram('Commands per append call.', ({ store }) =>
    distribution(store.appends.batches),
  ),
  advocacy_append_call_seconds: histogram('Seconds per append call, including the commit.', ({ store }) =>
    distribution(store.appends.callSeconds),
  ),
  advocacy_append_calls_in_flight: gauge(
    'Append calls in progress, at most 2.',
    ({ store }) => store.appends.load.calls,
  ),
  advocacy_append_queue: gauge(
    'Commands that wait for an append call.',
    ({ store }) => store.appends.load.waiting,
  ),
  advocacy_projection_lag_positions: gauge(
    'Positions of the log that a projection has not applied yet, at the last background check.',
    ({ projections }) => ofProjections(projections, ({ lag }) => lag),
    ['projection'],
  ),
  advocacy_projection_failing: gauge(
    '1 while a projection is stopped at an event that it cannot apply.',
    ({ projections }) => ofProjections(projections, ({ failure }) => Number(failure !== null)),
    ['projection'],
  ),
  advocacy_projections_seen_seconds: gauge(
    'Seconds since the last background check of the projections. Up to ten while there are no events.',
    ({ projections: { lastSeen } }) => lastSeen && (performance.now() - lastSeen.at) / 1_000,
  ),
  advocacy_last_position: gauge(
    'The last position of the log that any instance allocated.',
    (_, { last }) => last,
  ),
  advocacy_seal_lag_positions: gauge(
    'Positions of the log that no instance has sealed yet.',
    (_, { sealed, last }) =>
      sealed === undefined || last === undefined ? undefined : Math.max(0, last - sealed),
  ),
  advocacy_refused_organizations: gauge(
    'Quarantined organizations: their stored history differs from what was signed, so sealing stopped. The log of all organizations counts as one.',
    (_, { refused }) => refused,
  ),
  advocacy_self_check_findings: gauge(
    'Histories and projections in which the self-check found differences.',
    ({ selfCheck: { lastSeen } }) => lastSeen?.findings.length,
  ),
  advocacy_self_check_overdue: gauge(
    'Histories and projections whose check is overdue by more than VERIFY_EVERY.',
    ({ selfCheck: { lastSeen } }) => lastSeen && lastSeen.subjects - lastSeen.current,
  ),
  advocacy_contradicted_organizations: gauge(
    'Organizations whose history a witness contradicts, because it has cosigned a different one. The log of all organizations counts as one.',
    ({ cosigning: { lastSeen } }) => lastSeen?.contradicted ?? 0,
  ),
  advocacy_witnesses_failing: gauge(
    'Witnesses that fail or return invalid responses. Only the instance that queries them reports a number; the others report 0.',
    ({ cosigning: { lastSeen } }) => lastSeen?.failing ?? 0,
  ),
  advocacy_subscription_lag_positions: gauge(
    'Positions of the log that a subscription has not reached yet on any instance.',
    ({ subscriptions }) => ofEach(subscriptions, ({ lag }) => lag),
    ['subscription'],
  ),
  advocacy_subscription_retrying: gauge(
    'Events that a subscription will retry, because they failed or wait for a failed event of their stream.',
    ({ subscriptions }) => ofEach(subscriptions, ({ retrying }) => retrying),
    ['subscription'],
  ),
  advocacy_subscription_parked: gauge(
    'Dead-lettered events of a subscription. An operator must retry or skip them.',
    ({ subscriptions }) => ofEach(subscriptions, ({ parked }) => parked),
    ['subscription'],
  ),
  advocacy_mail_waiting: gauge(
    'Messages that this instance is sending: they wait for their turn or for the mail server’s reply. Those that wait for a later attempt are in advocacy_subscription_retrying and advocacy_broadcast_recipients_waiting.',
    ({ mailer }) => mailer.load.messages,
  ),
  advocacy_mail_oldest_seconds: gauge(
    'Seconds that the oldest of these messages has waited. 0 if there are none.',
    ({ mailer }) => mailer.load.oldestSeconds,
  ),
  advocacy_mail_outcomes_total: counter(
    'Attempts to send a message by outcome: sent, deferred (will be retried), rejected (permanently), unreachable (the mail server), in-doubt.',
    ({ mailer }) => by('outcome', mailer.outcomes.entries()),
    ['outcome'],
  ),
  advocacy_mail_last_sent_timestamp_seconds: gauge(
    'When this instance last sent a message, in seconds since 1970. 0 if it has sent none.',
    ({ mailer }) => mailer.lastAt.sent / 1_000,
  ),
  advocacy_mail_last_unreachable_timestamp_seconds: gauge(
    'When this instance last failed to reach the mail server. If no instance has sent a message since, the mail server is down.',
    ({ mailer }) => mailer.lastAt.unreachable / 1_000,
  ),
  advocacy_broadcast_recipients_waiting: gauge(
    'Recipients of unfinished broadcasts who have not been sent their message yet, including paused broadcasts.',
    backlog('recipientsWaiting'),
  ),
  advocacy_broadcast_recipients_in_doubt: gauge(
    'Recipients of the newest 1,000 broadcasts whose message may or may not have been sent. To send it again, use broadcast.retry-recipients.',
    backlog('recipientsInDoubt'),
  ),
  advocacy_broadcast_oldest_due_seconds: gauge(
    'Seconds that the oldest unsent message of an active broadcast is overdue.',
    backlog('recipientSeconds'),
  ),
  advocacy_webhooks_behind: gauge(
    'Active webhooks with unsent events, at most 10,000.',
    backlog('webhooksBehind'),
  ),
  advocacy_webhook_retries_due: gauge(
    'Deliveries to active webhooks whose retry is due, at most 10,000.',
    backlog('webhookRetriesDue'),
  ),
  advocacy_webhook_oldest_retry_seconds: gauge(
    'Seconds that the oldest of these retries is overdue.',
    backlog('webhookRetrySeconds'),
  ),
  advocacy_imports_running: gauge(
    'Unfinished background imports and undos of imports, at most 10,000 of each.',
    backlog('importsRunning'),
  ),
  advocacy_import_oldest_seconds: gauge(
    'Seconds since any instance last worked on the oldest of these.',
    backlog('importSeconds'),
  ),
  advocacy_timers_overdue: gauge(
    'Timers that are due but have not fired, at most 10,000.',
    backlog('timersOverdue'),
  ),
  advocacy_timer_oldest_seconds: gauge(
    'Seconds that the oldest of these timers is overdue.',
    backlog('timerSeconds'),
  ),
  advocacy_images: gauge(
    'Uploaded images that this instance is rendering, and those that wait their turn.',
    ({ images: { use } }) => inStates({ running: use.running, waiting: use.waiting }),
    ['state'],
  ),
  advocacy_images_refused_total: counter(
    'Uploaded images rejected because they waited too long for their turn.',
    ({ images }) => images.use.turnedAway,
  ),
  advocacy_database_up: gauge(
    '1 if the database responded to this scrape within a second. Otherwise, its metrics are the last known values.',
    (_, { answered }) => Number(answered),
  ),
  advocacy_ready: gauge(
    '0 while this instance cannot read from or write to the database, so that /health/ready returns 503.',
    ({ watch }) => Number(watch.unreadiness === undefined),
  ),
  advocacy_pool_size: gauge(
    'Maximum number of connections that a pool may open to PostgreSQL.',
    (sources) => ofPools(sources, ({ most }) => [{ value: most }]),
    ['pool'],
  ),
  advocacy_pool_connections: gauge(
    'Busy and idle connections of a pool.',
    (sources) => ofPools(sources, ({ busy, idle }) => inStates({ busy, idle })),
    ['pool', 'state'],
  ),
  advocacy_pool_waiting: gauge(
    'Statements that wait for a connection from a pool.',
    (sources) => ofPools(sources, ({ waiting }) => [{ value: waiting }]),
    ['pool'],
  ),
  advocacy_wide_queries: gauge(
    'Lists, searches and export pages that are running, and those that wait for their organization’s turn.',
    ({ main }) => {
      const { running, waiting } = wideQueries(main);
      return inStates({ running, waiting });
    },
    ['state'],
  ),
  advocacy_wide_queries_refused_total: counter(
    'Lists, searches and export pages rejected because they waited too long for their turn.',
    ({ main }) => wideQueries(main).turnedAway,
  ),
  advocacy_log_lines_dropped_total: counter(
    'Log lines dropped because they could not be written: no process reads them, or the disk is full.',
    () => standardOutput.droppedInAll,
  ),
};

/**
 * All metrics except those that prom-client reports for any process. Nothing is counted here. Libraries always count, and a scrape
 * reads their counters.
 */
export const METRICS = Object.entries(CATALOG).map(([name, { read, ...metric }]) => ({
  name,
  ...metric,
  read: (sources: Sources, database: DatabaseFacts): (Omit<Sample, 'part'> & { metricName?: string })[] => {
    const found = read(sources, database) ?? [];
    if (typeof found === 'number') return [{ value: found }];
    return found.map(({ part, ...sample }) =>
      part === undefined ? sample : { ...sample, metricName: `${name}_${part}` },
    );
  },
}));

/** A value that was last read from the database. It is the same for every instance. */
function backlog(name: keyof Backlog): Read {
  return (_, { [name]: value }) => value;
}

const inStates = (values: Record<string, number>) => by('state', Object.entries(values));

type ProjectionStatus = NonNullable<Projections['lastSeen']>['statuses'][number];

/** A value per projection, at the last background check. */
function ofProjections({ lastSeen }: Projections, value: (status: ProjectionStatus) => number): Sample[] {
  return by('projection', lastSeen?.statuses.map((status) => [status.name, value(status)]) ?? []);
}

/** A value per subscription, as this instance last read it. */
function ofEach({ lastSeen = [] }: Subscriptions, value: (status: SubscriptionStatus) => number): Sample[] {
  return by(
    'subscription',
    lastSeen.map((status) => [status.name, value(status)]),
  );
}

function distribution(found: Distribution, labels: Labels = {}): Sample[] {
  const counts = found.cumulative();
  const ends = [...found.bounds.map(String), '+Inf'];
  return [
    ...counts.map((value, n) => ({ part: 'bucket', labels: { ...labels, le: ends[n]! }, value })),
    { part: 'sum', labels, value: found.sum },
    { part: 'count', labels, value: counts.at(-1)! },
  ];
}

/** A value by each value of a label. */
function by(label: string, values: readonly (readonly [string, number])[]): Sample[] {
  return values.map(([name, value]) => ({ value, labels: { [label]: name } }));
}

function ofPools({ pools }: Sources, read: (use: ReturnType<typeof poolUse>) => Sample[]): Sample[] {
  return Object.entries(pools).flatMap(([pool, source]) =>
    read(poolUse(source)).map(({ value, labels }) => ({ value, labels: { pool, ...labels } })),
  );
}
