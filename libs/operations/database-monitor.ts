import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { type NextFunction, type Request, type Response } from 'express';
import { isTimedOut, isTransient, ReservedConnections, IncidentLog, incidentOf } from '#libs/database';
import { EventStore } from '#libs/event-store';
import { Projections, type ProjectionStatus } from '#libs/projections';
import { isOfApi, RpcError } from '#libs/rpc';
import { PersistentIncident } from './persistent-incident.js';

/** How often is looked at what the database does. All times below are counted in looks: a process that hangs counts none. */
const LOOK_MS = 1_000;
/** A database that takes longer than this to say how far the read models are is as good as away. */
const ANSWER_MS = 2_000;
/** For this process's own pauses: after a long one timer and answer are both due, and Node runs timers first. */
const GRACE_MS = 20;
/** Without an append that was answered for so long it is tried whether one would be. */
const IDLE_LOOKS = 15;
/** Appends wait for seconds where a migration indexes the history or a lease is taken over: longer, and they hang. */
const HUNG_LOOKS = 10;
/** After this long PostgreSQL has ended the transactions that a process left standing. */
const STANDSTILL_MS = 5_000;
/** So long nothing has been answered before requests are refused without being tried. */
const SILENT_LOOKS = 3;
/** Of the requests that are refused otherwise so many are tried at once: the first that succeeds ends it. */
const MOST_TRIED = 10;

const NO_ANSWER = 'The database does not respond.';
const NO_WRITES = 'The database completes no writes.';
const WRITES_HANG = 'The database has completed no writes for ten seconds: something blocks them.';

/** For operators, where it is nothing that is known. */
const READS_FAIL = 'PostgreSQL did not return the positions of the projections. Run `doctor`.';
const WRITES_FAIL = 'PostgreSQL rejects a statement that every write needs. Run `doctor`.';
const SOMETHING_HOLDS_UP =
  'PostgreSQL has completed no writes for ten seconds: a lock or an old transaction blocks them. The line "activity" of `doctor` names the session.';

/**
 * Knows whether the database reads and writes, for `/health/ready` and for requests that need not wait to find out. A
 * database that answers `SELECT 1` may be full, read-only after a failover, or have a lock that everybody waits for; so
 * whether writing works is told by the appends themselves, and where there are none, or they fail, by one that stores
 * nothing (`AppendQueue.probe`).
 */
@Injectable()
export class DatabaseMonitor implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger('DatabaseMonitor');
  private looking?: NodeJS.Timeout;
  private answer: Promise<ProjectionStatus[]> | undefined;
  private question: Promise<ProjectionStatus[]> | undefined;
  private readFailure: string | undefined;
  private looks = 0;
  private silentLooks = 0;
  private writeFailure: string | undefined;
  private hungLooks = 0;
  private idleLooks = 0;
  private probing = false;
  private seen = { underWay: 0, answered: 0, failed: 0 };
  private tried = 0;
  private lookedAt = performance.now();
  private told: string | undefined;
  private statuses: ProjectionStatus[] | undefined;
  private readonly steady = new PersistentIncident();

  constructor(
    private readonly reserved: ReservedConnections,
    private readonly store: EventStore,
    private readonly projections: Projections,
    private readonly troubles: IncidentLog,
  ) {}

  onModuleInit(): void {
    this.looking = setInterval(() => this.look(), LOOK_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.looking);
  }

  /** Why this instance cannot serve, in a sentence for everybody; undefined when it can, as far as is known. */
  get trouble(): string | undefined {
    return this.readFailure ?? this.writeFailure ?? (this.hungLooks >= HUNG_LOOKS ? WRITES_HANG : undefined);
  }

  /**
   * How far the read models are. Asked once a second at most, however often it is wanted.
   *
   * @throws RpcError when the database does not say so within two seconds, or takes no writes.
   */
  async ask(): Promise<ProjectionStatus[]> {
    const statuses = await this.askOnce();
    if (this.trouble !== undefined) throw this.refusal(this.trouble);
    return statuses;
  }

  /** Why load balancers should leave this instance out; undefined when they should not. The metric says the same. */
  get unreadiness(): string | undefined {
    return this.steady.trouble;
  }

  /**
   * The same as `ask`, for load balancers: trouble that does not last is none, and the last statuses are returned.
   *
   * @throws RpcError when the instance is not ready, or has never been.
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

  /** Middleware: where nothing at all is answered, most requests are told at once instead of each waiting for it. */
  readonly admit = (request: Request, response: Response, next: NextFunction): void => {
    if (!this.isHanging() || !isOfApi(request.url)) return next();
    const reads = request.method === 'GET' || request.method === 'HEAD';
    if (reads && this.silentLooks < SILENT_LOOKS) return next();
    if (this.tried >= MOST_TRIED) return next(this.refusal(this.trouble ?? NO_ANSWER));
    this.tried += 1;
    response.once('close', () => {
      this.tried -= 1;
      // Every operation that succeeds has asked the database.
      if (response.statusCode !== 200) return;
      this.readsWork();
      this.lookAtAppends();
    });
    next();
  };

  private isHanging(): boolean {
    return this.silentLooks >= SILENT_LOOKS || this.hungLooks >= HUNG_LOOKS;
  }

  private look(): void {
    this.tellStandstill();
    this.looks += 1;
    if (this.readFailure === undefined) this.silentLooks = 0;
    else this.silentLooks += 1;
    // The background asks for more than that, four times a second.
    if (performance.now() - this.store.pulse.answeredAt < LOOK_MS) this.readsWork();
    else this.askOnce().catch(() => undefined);

    const before = this.seen;
    const hasAnswered = this.lookAtAppends();
    const { underWay, failed } = this.seen;
    const isHung = !hasAnswered && before.underWay > 0 && underWay > 0;
    const hungBefore = this.hungLooks;
    if (isHung) this.hungLooks += 1;
    this.idleLooks = hasAnswered ? 0 : this.idleLooks + 1;
    const isInDoubt = this.writeFailure !== undefined || this.hungLooks > 0 || failed !== before.failed;
    if (!hasAnswered && (isInDoubt || this.idleLooks >= IDLE_LOOKS)) void this.probe(hungBefore);
    if (this.hungLooks >= HUNG_LOOKS) this.troubles.tell(undefined, SOMETHING_HOLDS_UP);
    if (this.trouble === undefined && !isInDoubt) this.troubles.works();
    this.steady.look(this.trouble);
    this.tell();
  }

  /** Else who reads the log wonders what became of the connections that PostgreSQL has ended meanwhile. */
  private tellStandstill(): void {
    const stoodMs = performance.now() - this.lookedAt - LOOK_MS;
    this.lookedAt += LOOK_MS + stoodMs;
    if (stoodMs < STANDSTILL_MS) return;
    this.logger.warn({
      message: 'this process was suspended',
      seconds: Math.round(stoodMs / 100) / 10,
      meaning:
        'The process or its machine was suspended or is overloaded. PostgreSQL may have closed its connections; the process recovers by itself.',
    });
  }

  /** @returns whether an append was answered since it was last asked: then writing works. */
  private lookAtAppends(): boolean {
    const { underWay, answered, failed } = this.store.appends.traffic;
    const hasAnswered = answered !== this.seen.answered;
    this.seen = { underWay, answered, failed };
    if (hasAnswered) {
      this.hungLooks = 0;
      this.writeFailure = undefined;
    }
    return hasAnswered;
  }

  /** @param hungBefore looks that were hung before the one that begins it. */
  private async probe(hungBefore: number): Promise<void> {
    if (this.probing) return;
    this.probing = true;
    const looksBefore = this.looks - 1;
    try {
      await this.store.appends.probe();
      this.idleLooks = 0;
      this.writeFailure = undefined;
      // Those that hang may wait for what it does not.
      if (this.store.appends.traffic.underWay === 0) this.hungLooks = 0;
    } catch (error) {
      if (isTimedOut(error)) this.probeHung(hungBefore, this.looks - looksBefore);
      // It stores nothing, so whatever fails fails for everybody: a right that was taken away, a function that is gone.
      else if (!isTransient(error)) {
        // Where reads fail too it is one trouble, and told as one. Reads that are known to fail are not asked again.
        if (this.readFailure === undefined) await this.readProjections().catch(() => undefined);
        this.writeFailure = incidentOf(error)?.publicly ?? this.readFailure ?? NO_WRITES;
        this.troubles.tell(error, WRITES_FAIL);
      }
    } finally {
      this.probing = false;
    }
  }

  /** @param looks while it hung. */
  private probeHung(hungBefore: number, looks: number): void {
    // An append was answered since it began.
    if (this.hungLooks < hungBefore) return;
    // The same looks may have been counted for appends that hang as well.
    this.hungLooks = Math.max(this.hungLooks, hungBefore + looks);
  }

  private askOnce(): Promise<ProjectionStatus[]> {
    if (this.answer) return this.answer;
    const answer = this.readProjections();
    const forget = () =>
      setTimeout(() => {
        if (this.answer === answer) this.answer = undefined;
      }, LOOK_MS).unref();
    answer.then(forget, forget);
    return (this.answer = answer);
  }

  private async readProjections(): Promise<ProjectionStatus[]> {
    // One that is not answered yet needs no second one beside it.
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
      this.troubles.tell(error, READS_FAIL);
      throw this.refusal(this.readFailure, error);
    }
  }

  private readsWork(): void {
    this.silentLooks = 0;
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

  /** Once each time that it changes: load balancers leave the instance out meanwhile. */
  private tell(): void {
    const { unreadiness: trouble } = this;
    if (trouble === this.told) return;
    if (trouble === undefined)
      this.logger.log({ message: 'ready again: the database accepts reads and writes' });
    else this.logger.warn({ message: 'not ready', trouble });
    this.told = trouble;
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
