import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { RecordReader } from '#libs/commands';
import { describeError, IncidentLog } from '#libs/database';
import { type BackgroundWork } from '#libs/modules';
import { StorageUnreachable } from '#libs/storage';
import { image } from './image.js';
import { ImageFiles } from './image-files.js';

const EVERY_MS = 60_000;

/** Settles uploads and removals in which somebody died: files are kept where their image stands, and removed where none does. */
@Injectable()
export class ImageSweep implements BackgroundWork {
  private readonly stopping = new AbortController();
  private readonly logger = new Logger('images');
  private running: Promise<void> | undefined;

  constructor(
    private readonly files: ImageFiles,
    private readonly records: RecordReader,
    private readonly troubles: IncidentLog,
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    for (;;) {
      await sleep(EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      await this.look().catch((error: unknown) => this.tell(error));
    }
  }

  /** Of any number of instances at once: each step is done once by its effect. */
  async look(): Promise<void> {
    for (const use of await this.files.unsettled()) {
      const { state } = await this.records.load(image, use.organizationId, use.imageId);
      if (state.status === 'standing') await this.files.keep(use);
      else await this.files.release(use);
    }
    await this.files.goOnRemoving();
  }

  private tell(error: unknown): void {
    if (this.troubles.tell(error)) return;
    const reason = error instanceof StorageUnreachable ? error.message : describeError(error);
    this.logger.warn({ message: 'removing image files failed: it will be retried', reason });
  }
}
