import { Injectable, Logger } from '@nestjs/common';
import { describeError, IncidentLog } from '#libs/database';
import { type BackgroundWork } from '#libs/modules';
import { Worker } from '#libs/work';
import { Drafts } from './drafts.js';

const EVERY_MS = 3_600_000;

/** Deletes drafts that no one has continued. */
@Injectable()
export class DraftExpiry implements BackgroundWork {
  private readonly logger = new Logger('drafts');
  private readonly worker: Worker;

  constructor(
    private readonly drafts: Drafts,
    incidents: IncidentLog,
  ) {
    this.worker = new Worker((error) => {
      this.logger.warn({
        message: 'deleting old drafts failed: it will be retried',
        reason: describeError(error),
      });
    }, incidents);
  }

  start(): void {
    this.worker.start(
      () => this.drafts.deleteOld(),
      () => this.worker.pause(EVERY_MS),
    );
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }
}
