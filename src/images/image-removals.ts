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
/** Whatever came at that very moment: they are few. */
const MOST = 1_000;

/** The command of this reaction; no operation. */
class TakeOutImage extends Input {
  recordId!: string;
}

/** Removes the files of images that were deleted, and takes these out of what somebody let show them at that very moment. */
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
    // Several commands of one reaction: each is one by its effect.
    const { idempotencyKey: _, ...context } = reactionTo(event, NAME);
    for (const { id: recordId } of shown) {
      const input = inputOf(TakeOutImage, { recordId }, context);
      const decide = (state: object) => (kind.exists(state) ? kind.takeOut(state) : []);
      await this.commands.change(kind.decider, input, recordId, decide);
    }
  }
}
