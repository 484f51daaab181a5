import { handlerOf, Input, Integer, invalid, Operation, recordSchema } from '#libs/rpc';
import { Checkpoints, writeProof } from '#libs/sealing';
import { Cosigning } from '../audit/index.js';
import { sealed } from './not-sealed.js';

@Operation({
  name: 'history.get-checkpoint',
  summary: 'Retrieve the latest checkpoint of the history',
  description:
    'Returns a signed note (C2SP tlog-checkpoint) over the Merkle tree of the organization’s events. Store it ' +
    'elsewhere: it proves later whether anyone changed, removed or reordered events. With `size`, the size of an ' +
    'older checkpoint, the response also contains the path that proves that the older tree is the beginning of ' +
    'this one.',
  reasons: ['NOT_SEALED'],
  answers: recordSchema({
    checkpoint: { type: 'string' },
    witnessed: {
      type: ['string', 'null'],
      description:
        'The newest checkpoint cosigned by most witnesses, including their signature lines. Equals `checkpoint` once ' +
        'they have cosigned it; null if no witness has cosigned any.',
    },
    parts: {
      type: 'string',
      description:
        'Not signed, because it leads to the signed root. Contains a line `<first position> <last position> <leaves> ' +
        '<hash>` for each subtree. `history verify` uses it to find which part of a history differs.',
    },
    size: { type: 'integer', description: 'Number of events in the tree.' },
    consistency: { type: 'array', items: { type: 'string', description: 'base64' } },
    proof: {
      type: ['string', 'null'],
      description:
        'Proof that this checkpoint is in the log of all organizations’ checkpoints (C2SP tlog-proof): its index, ' +
        'the path, and the signed note of that log. It reveals only the number of other checkpoints. Null while ' +
        'nothing is signed in that log; the operator can see why.',
    },
  }),
})
export class GetCheckpoint extends Input {
  @Integer({
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    optional: true,
    description: 'The size of an older checkpoint.',
  })
  size?: number;
}

export const GetCheckpointHandler = handlerOf(
  GetCheckpoint,
  [Checkpoints, Cosigning],
  async ({ organizationId, size }, checkpoints, cosigning) => {
    const { checkpoint, inAll } = await sealed(checkpoints.lastInAll(organizationId));
    if (size !== undefined && size > checkpoint.size) {
      throw invalid([
        {
          path: 'size',
          message: `must be the size of an older checkpoint: the history has ${checkpoint.size} sealed events`,
        },
      ]);
    }
    const path = size === undefined ? [] : await sealed(checkpoints.consistency(checkpoint, size));
    const { note, witnessed } = await cosigning.cosigned(checkpoint);
    return {
      checkpoint: note,
      witnessed,
      parts: await checkpoints.parts(checkpoint),
      size: checkpoint.size,
      consistency: path.map((hash) => hash.toString('base64')),
      proof: inAll ? writeProof(inAll) : null,
    };
  },
);
