import { type Checkpoint, checkpointBy } from './checkpoint.js';
import { ALL, NotAuthentic, verifierKeyOf, wholeNumber } from './note.js';
import { areSame, fromBase64, HASH } from './platform.js';
import { claimHash, nodeHash } from './tree.js';
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
  const path = lines.map((line) => fromBase64(line));
  if (
    end < 0 ||
    header !== 'c2sp.org/tlog-proof@v1' ||
    index === undefined ||
    !path.every((hash): hash is Hash => hash?.length === HASH)
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

type Hash = NonNullable<ReturnType<typeof fromBase64>>;

/** RFC 9162, section 2.1.3.2. */
export function rootOfPath(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Uint8Array | undefined {
  if (index >= size) return undefined;
  let [first, last, root] = [index, size - 1, leaf];
  for (const hash of path) {
    if (last === 0) return undefined;
    if (first % 2 === 1 || first === last) {
      root = nodeHash(hash, root);
      while (first % 2 === 0 && first !== 0) [first, last] = [half(first), half(last)];
    } else {
      root = nodeHash(root, hash);
    }
    [first, last] = [half(first), half(last)];
  }
  return last === 0 ? root : undefined;
}

const half = (number: number) => Math.floor(number / 2);
