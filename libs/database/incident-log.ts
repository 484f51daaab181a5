import { type LoggerService } from '@nestjs/common';
import { incidentOf, reasonOf } from './incidents.js';

/** So long all must have been well before a trouble is over: what comes and goes is one trouble. */
const QUIET_MS = 5_000;

type Episode = { since: number; told: Set<string>; refused: number; wellSince: number | undefined };

/**
 * Tells what is wrong with the database: each thing once when it begins, and once when all is over, however many requests,
 * read models and connections meet it meanwhile.
 */
export class IncidentLog {
  private episode: Episode | undefined;

  constructor(private readonly logger: Pick<LoggerService, 'log' | 'warn' | 'error'>) {}

  /**
   * To be called by whoever meets an error of the database, each time.
   *
   * @param otherwise the sentence where it is none of the known troubles and stands in everybody's way all the same.
   * @returns false where it is nothing to be told here.
   */
  tell(error: unknown, otherwise?: string): boolean {
    const known = incidentOf(error);
    const trouble = known?.sentence ?? otherwise;
    if (trouble === undefined) return false;
    const since = performance.now();
    this.episode ??= { since, told: new Set(), refused: 0, wellSince: undefined };
    this.episode.wellSince = undefined;
    if (this.episode.told.has(trouble)) return true;
    this.episode.told.add(trouble);
    const reason = error === undefined ? undefined : reasonOf(error);
    // Of a connection that broke a new one takes the place; if none can be made, that is told as well.
    const level = known?.kind === 'connection lost' ? 'warn' : 'error';
    this.logger[level]({ message: 'database problem', trouble, reason });
    return true;
  }

  /** A request was refused for it. @param otherwise as for `tell`, where nothing was told yet. */
  refuse(error: unknown, otherwise: string): void {
    if (incidentOf(error) || !this.episode) this.tell(error, otherwise);
    else this.episode.wellSince = undefined;
    if (this.episode) this.episode.refused += 1;
  }

  /** To be called again and again while the database is found to read and write. */
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
      refusedRequests: episode.refused,
    });
  }
}
