import { Injectable, Logger } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { describeError, IncidentLog } from '#libs/database';
import { type BackgroundWork } from '#libs/modules';
import { StorageUnreachable } from '#libs/storage';
import { Worker } from '#libs/work';
import { image } from './image.js';
import { ImageFiles } from './image-files.js';

const EVERY_MS = 60_000;

/**
 * Settles uploads and removals whose process died: files of existing images are kept, and all others are removed.
 */
@Injectable()
export class ImageSweep implements BackgroundWork {
  private readonly logger = new Logger('images');
  private readonly worker: Worker;

  constructor(
    private readonly files: ImageFiles,
    private readonly records: RecordReader,
    incidents: IncidentLog,
  ) {
    this.worker = new Worker((error) => {
      const reason = error instanceof StorageUnreachable ? error.message : describeError(error);
      this.logger.warn({ message: 'removing image files failed: it will be retried', reason });
    }, incidents);
  }

  start(): void {
    const pause = () => this.worker.pause(EVERY_MS);
    void pause().then(() => this.worker.start(() => this.look(), pause));
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** Any number of instances may do this at the same time: a step that is repeated changes nothing. */
  async look(): Promise<void> {
    for (const use of await this.files.unsettled()) {
      const { state } = await this.records.load(image, use.organizationId, use.imageId);
      if (state.status === 'standing') await this.files.keep(use);
      else await this.files.release(use);
    }
    await this.files.goOnRemoving();
  }
}
