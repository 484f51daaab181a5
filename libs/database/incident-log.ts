import { type LoggerService } from '@nestjs/common';
import { incidentOf, reasonOf } from './incidents.js';

/** An incident is over after this long without errors, so that an intermittent one is logged once. */
const QUIET_MS = 5_000;

type Episode = { since: number; logged: Set<string>; rejected: number; wellSince: number | undefined };

/**
 * Logs database incidents: each problem once when it begins, and the recovery once, regardless of how many requests,
 * projections and connections meet it.
 */
export class IncidentLog {
  private episode: Episode | undefined;
  private hasEnded = false;

  constructor(private readonly logger: Pick<LoggerService, 'log' | 'warn' | 'error'>) {}

  /**
   * Logs a database error if it is new. Call it for every error.
   *
   * @param otherwise the sentence to log for an unknown error that affects everyone.
   * @returns false if the error is not an incident and `otherwise` is undefined.
   */
  report(error: unknown, otherwise?: string): boolean {
    const known = incidentOf(error);
    const problem = known?.sentence ?? otherwise;
    if (problem === undefined) return false;
    if (this.hasEnded) return true;
    const since = performance.now();
    this.episode ??= { since, logged: new Set(), rejected: 0, wellSince: undefined };
    this.episode.wellSince = undefined;
    if (this.episode.logged.has(problem)) return true;
    this.episode.logged.add(problem);
    const reason = error === undefined ? undefined : reasonOf(error);
    // The pool replaces a broken connection. If it cannot, that is logged as an error.
    const level = known?.kind === 'connection lost' ? 'warn' : 'error';
    this.logger[level]({ message: 'database problem', problem, reason });
    return true;
  }

  /** Records that a request was rejected because of this error. @param otherwise see `report`; used if no incident is open. */
  refuse(error: unknown, otherwise: string): void {
    if (incidentOf(error) || !this.episode) this.report(error, otherwise);
    else this.episode.wellSince = undefined;
    if (this.episode) this.episode.rejected += 1;
  }

  /** Logs no more incidents: this process stops the database itself. */
  end(): void {
    this.hasEnded = true;
  }

  /** Call this regularly while the database can be read and written. */
  works(): void {
    const { episode } = this;
    if (!episode) return;
    const now = performance.now();
    episode.wellSince ??= now;
    if (now - episode.wellSince < QUIET_MS) return;
    this.episode = undefined;
    this.logger.log({
      message: 'the database works again',
      seconds: Math.round((episode.wellSince - episode.since) / 100) / 10,
      refusedRequests: episode.rejected,
    });
  }
}
