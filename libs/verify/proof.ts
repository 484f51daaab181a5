import { type Checkpoint, checkpointBy } from './checkpoint.js';
import { rootOfPath } from './consistency.js';
import { ALL, NotAuthentic, verifierKeyOf } from './note.js';
import { areSame, hashOf, wholeNumber } from './platform.js';
import { claimHash } from './tree.js';
import { type InAll } from './verdict.js';

/**
 * Reads a proof (C2SP tlog-proof) that a checkpoint is in the log of all organizations, which the same key
 * signed.
 *
 * @throws NotAuthentic if it proves something else or nothing.
 */
export async function openProof(text: string, checkpoint: Checkpoint): Promise<InAll> {
  const end = text.indexOf('\n\n');
  const [header, number, ...lines] = text.slice(0, end).split('\n');
  const index = wholeNumber(/^index (\S+)$/.exec(number ?? '')?.[1]);
  const path = lines.map((line) => hashOf(line));
  if (
    end < 0 ||
    header !== 'c2sp.org/tlog-proof@v1' ||
    index === undefined ||
    !path.every((hash) => hash !== undefined)
  ) {
    throw new NotAuthentic(
      'The proof that the checkpoint is in the log of all organizations is not a valid tlog-proof.',
      'proof',
    );
  }
  const { signer } = checkpoint;
  const name = `advocacy-api/${ALL.name}`;
  const log = await checkpointBy(text.slice(end + 2), verifierKeyOf(name, signer.bytes));
  const root = rootOfPath(claimHash(checkpoint), index, log.size, path);
  if (log.organizationId !== ALL.name || !root || !areSame(root, log.root)) {
    throw new NotAuthentic(
      `The checkpoint is not in the log of all organizations. The proof does not match the log’s ${log.size} checkpoints.`,
      'proof',
    );
  }
  return { index, size: log.size, sealedAt: log.sealedAt };
}
