import { type LoggerService } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { describeError, type Sql, type IncidentLog } from '#libs/database';
import { type Projections, UnderWay } from '#libs/projections';
import { ALL_ORGANIZATIONS, logIdOf, logNameOf, type Signers } from '#libs/sealing';
import { type UnreadablePersonalData } from '#libs/event-store';
import { Worker } from '#libs/work';
import { verifyAll, verifyDatabase } from '../audit/index.js';

const POLL_MS = 60_000;
/** The checking instance renews its lease this often. Without renewal, the lease ends after LEASE_SECONDS. */
const RENEW_MS = 30_000;
const LEASE_SECONDS = 180;
/** After an error, the check is retried after this time. */
const RETRY_SECONDS = 600;
/**
 * Anyone who can alter other tables can also alter the schedule in `self_checks`. So each instance checks each subject itself
 * within this many rounds, regardless of that table.
 */
const OWN_ROUNDS = 3;
/**
 * No one waits for the check. Before each query, it pauses for as long as the last one took, up to this limit.
 */
const LONGEST_REST_MS = 10_000;

/**
 * What is checked: a projection, by name and version, or a history, by the organization's id (`all`: the log of
 * all), or operational data by the name of its comparison.
 */
type Subject = { kind: 'read model' | 'history' | 'operational data'; subject: string };

/** Compares rows that are not events with what events state about them. @returns the finding, in one sentence. */
type Comparison = (sql: Sql) => Promise<string | undefined>;

type Finding = Subject & { finding: string; since: Date };

export type SelfChecked = {
  /** Unresolved findings, oldest first. */
  findings: Finding[];
  /** `subjects`: all of them. `current`: those that are not overdue by more than a whole round. */
  subjects: number;
  current: number;
};

/**
 * Checks whether anyone has altered stored data. It verifies each history as auditors do, against the last signed
 * checkpoint. It compares each projection row by row with the result of its events. One instance checks one subject at
 * a time and pauses as long as it works. All instances share the findings in the `self_checks` table.
 */
export class SelfCheck {
  private readonly worker: Worker;
  /** The findings of all instances, as of this instance's last poll. */
  lastSeen: SelfChecked | undefined;
  /** Every subject that this instance has seen, and when it checks it at the latest (`performance.now()`). */
  private readonly latest = new Map<string, { subject: Subject; at: number }>();

  /** @param everySeconds the time for a round of all checks; 0: only requested checks. */
  constructor(
    private readonly source: DataSource,
    private readonly projections: Projections,
    private readonly signers: Signers,
    private readonly everySeconds: number,
    private readonly logger: Pick<LoggerService, 'log' | 'warn' | 'error'>,
    incidents: IncidentLog,
    private readonly comparisons: { readonly [name: string]: Comparison } = {},
  ) {
    this.worker = new Worker((error) => {
      logger.warn({ message: 'the self-check did not run', reason: describeError(error) });
    }, incidents);
  }

  start(): void {
    if (this.everySeconds === 0) return;
    const { worker } = this;
    const pollMs = Math.min(POLL_MS, 1_000 * this.everySeconds);
    let registerAt = 0;
    const checkAll = async () => {
      // On a busy machine, the next check may always be due.
      do {
        if (performance.now() >= registerAt) {
          registerAt = performance.now() + pollMs;
          await this.register();
        }
        this.lastSeen = await this.status();
      } while (!worker.signal.aborted && (await this.turn()));
    };
    worker.start(checkAll, () => worker.pause(pollMs));
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** Finds new subjects. */
  private async register(): Promise<void> {
    const subjects = await this.source.query<Subject[]>(REGISTER, [
      this.ownProjections(),
      this.everySeconds,
      ALL_ORGANIZATIONS,
      logNameOf(ALL_ORGANIZATIONS),
      Object.keys(this.comparisons),
    ]);
    for (const subject of subjects) {
      if (!this.latest.has(keyOf(subject)))
        this.postpone(subject, Math.random() * OWN_ROUNDS * this.everySeconds);
    }
  }

  private postpone(subject: Subject, seconds: number): void {
    this.latest.set(keyOf(subject), { subject, at: performance.now() + 1_000 * seconds });
  }

  /** Checks the subject that is due first. @returns false if none is due, or another instance is checking. */
  private async turn(): Promise<boolean> {
    const now = performance.now();
    const overdue = [...this.latest.values()].find(({ at }) => at <= now)?.subject;
    const [claimed] = overdue
      ? []
      : await this.source.query<Subject[]>(CLAIM, [this.ownSubjects(), LEASE_SECONDS, this.everySeconds]);
    const subject = overdue ?? claimed;
    if (!subject) return false;
    const renewing = setInterval(() => {
      this.source.query(RENEW, [subject.kind, subject.subject]).catch(() => undefined);
    }, RENEW_MS).unref();
    try {
      const finding = await this.check(subject);
      this.postpone(subject, OWN_ROUNDS * this.everySeconds);
      await this.record(subject, finding);
    } catch (error) {
      const seconds = Math.min(RETRY_SECONDS, this.everySeconds);
      this.postpone(subject, seconds);
      await this.source.query(POSTPONE, [subject.kind, subject.subject, seconds]);
      if (!(error instanceof UnderWay)) throw error;
    } finally {
      clearInterval(renewing);
    }
    return true;
  }

  async status(): Promise<SelfChecked> {
    const rows = await this.source.query<
      { kind: Subject['kind']; subject: string; finding: string | null; found_at: Date; current: boolean }[]
    >(STATUS, [this.ownSubjects(), this.everySeconds]);
    return {
      findings: rows.flatMap(({ kind, subject, finding, found_at: since }) =>
        finding === null ? [] : [{ kind, subject, finding, since }],
      ),
      subjects: rows.length,
      current: rows.filter(({ current }) => current).length,
    };
  }

  /** Those that depend on the version of the program. */
  private ownSubjects(): string[] {
    return [...this.ownProjections(), ...Object.keys(this.comparisons)];
  }

  private ownProjections(): string[] {
    return this.projections.own().map(({ name, version }) => `${name} ${version}`);
  }

  /** @returns what is wrong, in one sentence without personal data; undefined if nothing is. */
  private check({ kind, subject }: Subject): Promise<string | undefined> {
    if (kind === 'operational data')
      return this.comparisons[subject]!(paced(this.source, this.worker.signal));
    return kind === 'history' ? this.verifyHistory(subject) : this.verifyProjection(subject.split(' ')[0]!);
  }

  private async verifyProjection(name: string): Promise<string | undefined> {
    const { signal } = this.worker;
    const { maintenance } = this.projections;
    const unreadable: string[] = [];
    const onUnreadable = ({ message }: UnreadablePersonalData) => void unreadable.push(message);
    const differences = await maintenance.verify(name, { gently: true, signal, onUnreadable });
    // These events are missing in the comparison, so their rows differ, too.
    const [first, ...others] = unreadable;
    if (first !== undefined) {
      const rest = others.length > 0 ? ` Further events of this kind: ${others.length}.` : '';
      return `The projection ${name} cannot be compared with all of its events. ${first}.${rest}`;
    }
    const [difference, ...more] = differences;
    if (!difference) return undefined;
    const { table, key, problem, columns } = difference;
    const row = `${table} ${JSON.stringify(key)} is ${problem}${columns.length > 0 ? ` in ${columns.join(', ')}` : ''}`;
    return `The projection ${name} differs from its events: ${row}${more.length > 0 ? `, and ${more.length} more rows` : ''}.`;
  }

  private async verifyHistory(name: string): Promise<string | undefined> {
    const organizationId = logIdOf(name);
    const [row] = await this.source.query<{ note: string | null }[]>(
      'SELECT note FROM signed_notes WHERE organization_id = $1 AND refused IS NULL',
      [organizationId],
    );
    // Nothing was signed, or sealing has detected the alteration and reports it itself.
    const signed = row?.note && this.signers.open(row.note);
    if (!signed) return undefined;
    const { signal } = this.worker;
    const sql = paced(this.source, signal);
    const note = this.signers.signCheckpoint(signed);
    const { verifierKey } = this.signers;
    if (organizationId === ALL_ORGANIZATIONS) {
      const { ok, reason, wrong } = await verifyAll(sql, note, verifierKey, { onlySeals: true, signal });
      const [gone] = wrong;
      const organization = gone ? `Organization ${gone.organizationId}: ${gone.reason}` : '';
      return ok
        ? undefined
        : `The log of all organizations does not match what was signed. ${reason ?? organization}`;
    }
    const verdict = await verifyDatabase(sql, organizationId, note, verifierKey, { signal });
    if (verdict.ok) return undefined;
    return `The history of organization ${organizationId} does not match what was sealed: ${verdict.reason}`;
  }

  private async record({ kind, subject }: Subject, finding: string | undefined): Promise<void> {
    const [before] = await this.source.query<{ finding: string | null }[]>(RECORD, [
      kind,
      subject,
      finding ?? null,
      this.everySeconds,
    ]);
    if (finding === (before?.finding ?? undefined)) return;
    if (finding === undefined) {
      this.logger.log({ message: 'self-check: the finding is resolved', kind, subject });
      return;
    }
    const advice =
      kind !== 'read model'
        ? 'The history or data that it describes was altered. Change nothing, copy the database, and verify it against a checkpoint kept elsewhere.'
        : 'The data was changed by hand, or this is a bug. `projections rebuild` restores it from the history.';
    this.logger.error({
      message: 'self-check: stored data does not match',
      kind,
      subject,
      finding,
      advice,
    });
  }
}

const keyOf = ({ kind, subject }: Subject) => `${kind} ${subject}`;

/** Queries like the source, but pauses before each query as long as the last one took. */
function paced(source: DataSource, signal: AbortSignal): Sql {
  let since = performance.now();
  const query = async (...question: Parameters<Sql['query']>): Promise<unknown> => {
    await sleep(Math.min(performance.now() - since, LONGEST_REST_MS), undefined, { signal });
    since = performance.now();
    return source.query(...question);
  };
  return Object.assign(Object.create(source) as Sql, { query });
}

// New subjects are due at a random time within the first round, so that they are not all due at once.
const REGISTER = `
  WITH subjects (kind, subject) AS (
    SELECT 'read model', unnest($1::text[])
    UNION ALL SELECT 'operational data', unnest($5::text[])
    UNION ALL SELECT 'history', CASE organization_id WHEN $3 THEN $4 ELSE organization_id::text END FROM signed_notes
  ), added AS (
    INSERT INTO self_checks (kind, subject, due_at)
    SELECT kind, subject, clock_timestamp() + random() * make_interval(secs => $2) FROM subjects s
    WHERE NOT EXISTS (SELECT FROM self_checks c WHERE (c.kind, c.subject) = (s.kind, s.subject))
    ON CONFLICT DO NOTHING
  )
  SELECT kind, subject FROM subjects`;

// No instance writes a time later than a round from now, or a start in the future. Someone who alters other
// tables can alter this one too, and must not be able to stop the checks that way.
const CLAIM = `
  WITH due AS (
    SELECT kind, subject FROM self_checks
    WHERE (due_at <= clock_timestamp() OR due_at > clock_timestamp() + make_interval(secs => $3))
      AND (kind = 'history' OR subject = ANY ($1))
      -- Only about this row, so that it is evaluated again once the row is locked. Otherwise two instances could claim it.
      AND (begun_at IS NULL OR begun_at NOT BETWEEN clock_timestamp() - make_interval(secs => $2) AND clock_timestamp() + make_interval(secs => $2))
      AND NOT EXISTS (
        SELECT FROM self_checks
        WHERE begun_at BETWEEN clock_timestamp() - make_interval(secs => $2) AND clock_timestamp() + make_interval(secs => $2))
    ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE self_checks c SET begun_at = clock_timestamp() FROM due
    WHERE (c.kind, c.subject) = (due.kind, due.subject) RETURNING c.kind, c.subject
  )
  SELECT kind, subject FROM claimed`;

const RENEW = `
  UPDATE self_checks SET begun_at = clock_timestamp()
  WHERE kind = $1 AND subject = $2 AND begun_at IS NOT NULL`;

const POSTPONE = `
  UPDATE self_checks SET begun_at = NULL, due_at = clock_timestamp() + make_interval(secs => $3)
  WHERE kind = $1 AND subject = $2`;

const RECORD = `
  WITH before AS (SELECT finding FROM self_checks WHERE kind = $1 AND subject = $2 FOR UPDATE), noted AS (
    UPDATE self_checks SET begun_at = NULL, checked_at = clock_timestamp(),
      due_at = clock_timestamp() + make_interval(secs => $4), finding = $3,
      found_at = CASE WHEN $3::text IS NULL THEN NULL ELSE coalesce(found_at, clock_timestamp()) END
    WHERE kind = $1 AND subject = $2
  )
  SELECT finding FROM before`;

const STATUS = `
  SELECT kind, subject, finding, found_at,
    abs(extract(epoch FROM due_at - clock_timestamp())) <= $2 AS current
  FROM self_checks WHERE kind = 'history' OR subject = ANY ($1) ORDER BY found_at, kind, subject`;
