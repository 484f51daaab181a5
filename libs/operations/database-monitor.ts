import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { isTimedOut, isTransient, ReservedConnections, IncidentLog, incidentOf } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { Projections, type ProjectionStatus } from '#libs/projections';
import { isOfApi, RpcError } from '#libs/rpc';
import { PersistentIncident } from './persistent-incident.js';

/** How often the database is checked. The times below are counted in checks, so that a suspended process counts none. */
const CHECK_MS = 1_000;
/** A database that takes longer to return the positions of the projections counts as unavailable. */
const ANSWER_MS = 2_000;
/** After a long pause of this process, timer and response are both due, and Node.js runs timers first. */
const GRACE_MS = 20;
/** Writing is probed after this many checks without a completed append. */
const IDLE_CHECKS = 15;
/** Appends may wait for seconds while a migration indexes the history or a lease moves. After this many checks, they are considered hung. */
const HUNG_CHECKS = 10;
/** By then, PostgreSQL has ended the open transactions of a suspended process. */
const SUSPENDED_MS = 5_000;
/** After this many checks without a response, requests are rejected without being tried. */
const SILENT_CHECKS = 3;
/** This many of them are still tried concurrently. The first that succeeds ends the rejections. */
const MOST_TRIED = 10;

const NO_ANSWER = 'The database does not respond.';
const NO_WRITES = 'The database is not completing writes.';
const WRITES_HANG = 'The database has completed no writes for ten seconds: something blocks them.';

/** For operators, if no known incident matches. */
const READS_FAIL = 'PostgreSQL did not return the positions of the projections. Run `doctor`.';
const WRITES_FAIL = 'PostgreSQL rejects a statement that every write needs. Run `doctor`.';
const WRITES_BLOCKED =
  'PostgreSQL has completed no writes for ten seconds: a lock or an old transaction blocks them. The line "activity" of `doctor` names the session.';

/**
 * Monitors whether the database can be read and written, for `/health/ready` and to reject requests that would only wait. A
 * database that answers `SELECT 1` may be full, read-only after a failover, or blocked by a lock. So the appends themselves
 * show whether writing works. If there are none, or they fail, an append that stores nothing is tried (`AppendQueue.probe`).
 */
@Injectable()
export class DatabaseMonitor implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('DatabaseMonitor');
  private timer?: NodeJS.Timeout;
  private answer: Promise<ProjectionStatus[]> | undefined;
  private question: Promise<ProjectionStatus[]> | undefined;
  private readFailure: string | undefined;
  private checks = 0;
  private silentChecks = 0;
  private writeFailure: string | undefined;
  private hungChecks = 0;
  private idleChecks = 0;
  private probing = false;
  private seen = { underWay: 0, answered: 0, failed: 0 };
  private tried = 0;
  private checkedAt = performance.now();
  private logged: string | undefined;
  private statuses: ProjectionStatus[] | undefined;
  private readonly steady = new PersistentIncident();

  constructor(
    private readonly reserved: ReservedConnections,
    private readonly store: EventStore,
    private readonly projections: Projections,
    private readonly incidents: IncidentLog,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => this.check(), CHECK_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Why this instance cannot serve, in a sentence for API clients. Undefined if it can, as far as is known. */
  get problem(): string | undefined {
    return (
      this.readFailure ?? this.writeFailure ?? (this.hungChecks >= HUNG_CHECKS ? WRITES_HANG : undefined)
    );
  }

  /**
   * The positions of the projections. Read at most once a second, however often it is called.
   *
   * @throws RpcError if the database does not respond within two seconds, or accepts no writes.
   */
  async ask(): Promise<ProjectionStatus[]> {
    const statuses = await this.askOnce();
    if (this.problem !== undefined) throw this.refusal(this.problem);
    return statuses;
  }

  /** Why load balancers should send no requests to this instance; undefined if they should. The metric matches it. */
  get unreadiness(): string | undefined {
    return this.steady.problem;
  }

  /**
   * The same as `ask`, for load balancers. During a short incident, returns the last statuses.
   *
   * @throws RpcError if the instance is not ready, or has never been.
   */
  async askSteadily(): Promise<ProjectionStatus[]> {
    if (this.unreadiness !== undefined) throw this.refusal(this.unreadiness);
    try {
      return (this.statuses = await this.askOnce());
    } catch (error) {
      if (this.statuses === undefined || this.unreadiness !== undefined) throw error;
      return this.statuses;
    }
  }

  /** Middleware. While the database does not respond, rejects most requests immediately instead of letting each wait. */
  readonly admit = (request: Request, response: Response, next: NextFunction): void => {
    if (!this.isHanging() || !isOfApi(request.url)) return next();
    const reads = request.method === 'GET' || request.method === 'HEAD';
    if (reads && this.silentChecks < SILENT_CHECKS) return next();
    if (this.tried >= MOST_TRIED) return next(this.refusal(this.problem ?? NO_ANSWER));
    this.tried += 1;
    response.once('close', () => {
      this.tried -= 1;
      // Every operation that succeeds has used the database.
      if (response.statusCode !== 200) return;
      this.readsWork();
      this.checkAppends();
    });
    next();
  };

  private isHanging(): boolean {
    return this.silentChecks >= SILENT_CHECKS || this.hungChecks >= HUNG_CHECKS;
  }

  private check(): void {
    this.logSuspension();
    this.checks += 1;
    if (this.readFailure === undefined) this.silentChecks = 0;
    else this.silentChecks += 1;
    // A recent poll of the background work proves more than this check would.
    if (performance.now() - this.store.pulse.answeredAt < CHECK_MS) this.readsWork();
    else this.askOnce().catch(() => undefined);

    const before = this.seen;
    const hasAnswered = this.checkAppends();
    const { underWay, failed } = this.seen;
    const isHung = !hasAnswered && before.underWay > 0 && underWay > 0;
    const hungBefore = this.hungChecks;
    if (isHung) this.hungChecks += 1;
    this.idleChecks = hasAnswered ? 0 : this.idleChecks + 1;
    const isInDoubt = this.writeFailure !== undefined || this.hungChecks > 0 || failed !== before.failed;
    if (!hasAnswered && (isInDoubt || this.idleChecks >= IDLE_CHECKS)) void this.probe(hungBefore);
    if (this.hungChecks >= HUNG_CHECKS) this.incidents.report(undefined, WRITES_BLOCKED);
    if (this.problem === undefined && !isInDoubt) this.incidents.works();
    this.steady.look(this.problem);
    this.logReadiness();
  }

  /** Explains in the log why PostgreSQL has closed connections. */
  private logSuspension(): void {
    const suspendedMs = performance.now() - this.checkedAt - CHECK_MS;
    this.checkedAt += CHECK_MS + suspendedMs;
    if (suspendedMs < SUSPENDED_MS) return;
    this.logger.warn({
      message: 'this process was suspended',
      seconds: Math.round(suspendedMs / 100) / 10,
      meaning:
        'The process or its machine was suspended or is overloaded. PostgreSQL may have closed its connections; the process recovers by itself.',
    });
  }

  /** @returns whether an append has completed since the last call, which shows that writing works. */
  private checkAppends(): boolean {
    const { underWay, answered, failed } = this.store.appends.traffic;
    const hasAnswered = answered !== this.seen.answered;
    this.seen = { underWay, answered, failed };
    if (hasAnswered) {
      this.hungChecks = 0;
      this.writeFailure = undefined;
    }
    return hasAnswered;
  }

  /** @param hungBefore the number of hung checks before the one that starts the probe. */
  private async probe(hungBefore: number): Promise<void> {
    if (this.probing) return;
    this.probing = true;
    const checksBefore = this.checks - 1;
    try {
      await this.store.appends.probe();
      this.idleChecks = 0;
      this.writeFailure = undefined;
      // Appends that hang may wait for locks that the probe does not need.
      if (this.store.appends.traffic.underWay === 0) this.hungChecks = 0;
    } catch (error) {
      if (isTimedOut(error)) this.probeHung(hungBefore, this.checks - checksBefore);
      // The probe stores nothing, so its failure affects every append: a missing privilege or function, for example.
      else if (!isTransient(error)) {
        // If reads fail too, it is one incident, reported as such. Reads that are known to fail are not repeated.
        if (this.readFailure === undefined) await this.readProjections().catch(() => undefined);
        this.writeFailure = incidentOf(error)?.publicly ?? this.readFailure ?? NO_WRITES;
        this.incidents.report(error, WRITES_FAIL);
      }
    } finally {
      this.probing = false;
    }
  }

  /** @param checks the number of checks during which the probe hung. */
  private probeHung(hungBefore: number, checks: number): void {
    // An append has completed since it started.
    if (this.hungChecks < hungBefore) return;
    // The same checks may have been counted for hanging appends as well.
    this.hungChecks = Math.max(this.hungChecks, hungBefore + checks);
  }

  private askOnce(): Promise<ProjectionStatus[]> {
    if (this.answer) return this.answer;
    const answer = this.readProjections();
    const forget = () =>
      setTimeout(() => {
        if (this.answer === answer) this.answer = undefined;
      }, CHECK_MS).unref();
    answer.then(forget, forget);
    return (this.answer = answer);
  }

  private async readProjections(): Promise<ProjectionStatus[]> {
    // Callers share a query that is still running.
    const question = (this.question ??= this.projections.status(this.reserved.source).finally(() => {
      this.question = undefined;
    }));
    question.then(
      () => this.readsWork(),
      () => undefined,
    );
    try {
      return await inTime(question);
    } catch (error) {
      this.readFailure = incidentOf(error)?.publicly ?? NO_ANSWER;
      this.incidents.report(error, READS_FAIL);
      throw this.refusal(this.readFailure, error);
    }
  }

  private readsWork(): void {
    this.silentChecks = 0;
    if (this.readFailure === undefined) return;
    this.readFailure = undefined;
    this.answer = undefined;
  }

  private refusal(sentence: string, cause?: unknown): RpcError {
    const answers = this.readFailure === undefined && sentence !== NO_ANSWER;
    const reason = answers ? 'DATABASE_TAKES_NO_WRITES' : 'DATABASE_UNREACHABLE';
    const headers = { 'Retry-After': '1' };
    return new RpcError('SERVICE_UNAVAILABLE', sentence, { reason, headers }, { cause });
  }

  private logReadiness(): void {
    const { unreadiness: problem } = this;
    if (problem === this.logged) return;
    if (problem === undefined)
      this.logger.log({ message: 'ready again: the database accepts reads and writes' });
    else this.logger.warn({ message: 'not ready', problem });
    this.logged = problem;
  }
}

class NoAnswer extends Error {
  readonly code = 'ETIMEDOUT';

  constructor() {
    super(`no response within ${ANSWER_MS / 1_000} s`);
  }
}

function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer = setTimeout(() => {
      timer = setTimeout(() => reject(new NoAnswer()), GRACE_MS);
    }, ANSWER_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
