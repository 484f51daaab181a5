import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader, writeTo } from '#libs/commands';
import { type StreamWrite } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Resources } from '#libs/resources';
import { Flag, Operation, RecordInput, RpcError } from '#libs/rpc';
import { deleteImage, image } from './image.js';
import { imageIdSchema } from './images.js';
import { thoseThatShowImages } from './shown-images.js';

/** Maximum records from which one command removes an image. */
const MOST_DETACHED = 1_000;
/** Maximum records that a response names. */
const MOST_NAMED = 20;

@Operation({
  name: 'image.delete-image',
  summary: 'Delete an image',
  description:
    "Deletes the image's files within seconds. Copies in external caches cannot be deleted. An image that is " +
    'used by a petition, a post or the organization cannot be deleted, unless `detach` removes it from them.',
  answers: imageIdSchema,
  reasons: ['IMAGE_SHOWN'],
})
export class DeleteImage extends RecordInput('imageId') {
  @Flag({
    default: false,
    description: 'Removes the image from the petitions, posts and the organization that use it.',
  })
  detach!: boolean;
}

@CommandHandler(DeleteImage)
export class DeleteImageHandler implements ICommandHandler<DeleteImage> {
  constructor(
    private readonly commands: Commands,
    readonly records: RecordReader,
    private readonly projections: Projections,
    readonly resources: Resources,
  ) {}

  async execute(command: DeleteImage): Promise<{ imageId: string }> {
    const { organizationId, imageId, detach } = command;
    await this.commands.run(command, async () => {
      const { state, version } = await this.records.load(image, organizationId, imageId);
      const events = deleteImage(state);
      // The records come from the projections, which may lag behind.
      if (events.length > 0) await this.projections.catchUpWithLog();
      const detached = events.length > 0 ? await this.takeOut(organizationId, imageId, detach) : [];
      return {
        recordId: imageId,
        writes: [writeTo(image, imageId, version, events), ...detached],
        releasesAll: [imageId],
      };
    });
    return { imageId };
  }

  /** @throws RpcError CONFLICT if a record that must not be changed uses it. */
  private async takeOut(organizationId: string, imageId: string, detach: boolean): Promise<StreamWrite[]> {
    const shown = await Promise.all(
      thoseThatShowImages().map(async (kind) => ({
        kind,
        found: await kind.find(this, organizationId, imageId, MOST_DETACHED + 1),
      })),
    );
    const named = shown.flatMap(({ kind, found }) => found.map((one) => ({ object: kind.object, ...one })));
    if (named.length > 0 && (!detach || named.length > MOST_DETACHED)) {
      const [first, ...others] = named;
      const more =
        others.length === 0
          ? ''
          : named.length > MOST_DETACHED
            ? ', and many more'
            : ` and ${others.length} more`;
      const instead = detach
        ? `One request can remove it from at most ${MOST_DETACHED} records. Replace the image there first.`
        : 'Replace or remove the image there, or send `detach: true`.';
      throw new RpcError(
        'CONFLICT',
        `The ${first!.object} ${first!.id}${more} shows this image. ${instead}`,
        {
          reason: 'IMAGE_SHOWN',
          issues: named.slice(0, MOST_NAMED).map(({ object, id, name }) => ({
            path: 'imageId',
            message: `is used by the ${object} ${id}, ${JSON.stringify(name)}`,
          })),
        },
      );
    }
    const writes: StreamWrite[] = [];
    for (const { kind, found } of shown) {
      const ids = found.map(({ id }) => id);
      for (const [id, { state, version }] of await this.records.loadMany(kind.decider, organizationId, ids))
        writes.push(writeTo(kind.decider, id, version, kind.takeOut(state)));
    }
    return writes;
  }
}
