import { Injectable } from '@nestjs/common';
import { Commands, RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Resources } from '#libs/resources';
import { Input, inputOf } from '#libs/rpc';
import { reactionTo, type Subscription } from '#libs/subscriptions';
import { ImageFiles } from './image-files.js';
import { type ShowsImages, thoseThatShowImages } from './shown-images.js';

const NAME = 'image-removals';
/** Records that began to show the image while it was being deleted; there are few. */
const MOST = 1_000;

/** The command of this subscription. It is not an operation of the API. */
class TakeOutImage extends Input {
  recordId!: string;
}

/**
 * Removes the files of deleted images. Also removes a deleted image from records that began to show it at the
 * same moment.
 */
@Injectable()
export class ImageRemovals implements Subscription {
  readonly name = NAME;
  readonly handles = ['ImageDeleted'];
  readonly begins = 'at the first event';

  constructor(
    private readonly commands: Commands,
    readonly records: RecordReader,
    private readonly projections: Projections,
    readonly resources: Resources,
    private readonly files: ImageFiles,
  ) {}

  async handle(event: RecordedEvent): Promise<void> {
    const { organizationId, streamId: imageId } = event;
    await this.projections.catchUpWithLog();
    for (const kind of thoseThatShowImages()) await this.takeOut(event, kind);
    await this.files.release({ organizationId, imageId, hash: event.data.hash as string });
  }

  private async takeOut(event: RecordedEvent, kind: ShowsImages): Promise<void> {
    const { organizationId, streamId } = event;
    const shown = await kind.find(this, organizationId, streamId, MOST);
    // This event leads to several commands, so they cannot share its idempotency key. Each is idempotent by its
    // effect.
    const { idempotencyKey: _, ...context } = reactionTo(event, NAME);
    for (const { id: recordId } of shown) {
      const input = inputOf(TakeOutImage, { recordId }, context);
      const decide = (state: object) => (kind.exists(state) ? kind.takeOut(state) : []);
      await this.commands.change(kind.decider, input, recordId, decide);
    }
  }
}
