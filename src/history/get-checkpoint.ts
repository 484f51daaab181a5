import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { Input, Integer, invalid, Operation, recordSchema } from '#libs/rpc';
import { Sealer, Signer } from '#libs/sealing';

type Checkpoint = { checkpoint: string; size: number; consistency: string[] };

@Operation({
  method: 'GET',
  name: 'event.get-checkpoint',
  object: 'checkpoint',
  summary: 'Retrieve the last checkpoint of the history',
  description:
    'A signed note (C2SP tlog-checkpoint) over the Merkle tree of the organization’s events. Keep it outside: with ' +
    'it, whoever has the history can be shown to have changed, removed or reordered nothing. With `size`, the size ' +
    'of an older checkpoint, also the path that proves that the older tree is the beginning of this one.',
  answers: recordSchema({
    checkpoint: { type: 'string' },
    size: { type: 'integer', description: 'Events in the tree.' },
    consistency: { type: 'array', items: { type: 'string', description: 'base64' } },
  }),
})
export class GetCheckpoint extends Input {
  @Integer({ min: 1, max: Number.MAX_SAFE_INTEGER, optional: true, description: 'Of an older checkpoint.' })
  size?: number;
}

@QueryHandler(GetCheckpoint)
export class GetCheckpointHandler implements IQueryHandler<GetCheckpoint> {
  constructor(
    private readonly sealer: Sealer,
    private readonly signer: Signer,
  ) {}

  async execute({ organizationId, size }: GetCheckpoint): Promise<Checkpoint> {
    let tree = await this.sealer.last(organizationId);
    if (!tree) {
      await this.sealer.seal();
      tree = await this.sealer.last(organizationId);
    }
    if (!tree) throw new Error('There is an organization without events.');
    if (size !== undefined && size > tree.size) {
      throw invalid([
        {
          path: 'size',
          message: `must be that of an older checkpoint: the history has ${tree.size} sealed events`,
        },
      ]);
    }
    const path = size === undefined ? [] : await this.sealer.consistency(organizationId, size, tree.size);
    return {
      checkpoint: this.signer.signCheckpoint(tree),
      size: tree.size,
      consistency: path.map((hash) => hash.toString('base64')),
    };
  }
}
