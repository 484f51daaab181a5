import { type Checkpoint, checkpointBy } from './checkpoint.js';
import { ALL, fromBase64, keyIdOf, NotAuthentic, wholeNumber } from './note.js';
import { HASH } from './sha256.js';
import { claimHash, nodeHash } from './tree.js';
import { type InAll } from './verdict.js';

/**
 * Reads a proof (C2SP tlog-proof) that a checkpoint is in the log of all organizations, which the same key
 * signed.
 *
 * @throws NotAuthentic if it proves something else or nothing.
 */
export function openProof(text: string, checkpoint: Checkpoint): InAll {
  const end = text.indexOf('\n\n');
  const [header, number, ...lines] = text.slice(0, end).split('\n');
  const index = wholeNumber(/^index (\S+)$/.exec(number ?? '')?.[1]);
  const path = lines.map(fromBase64);
  if (end < 0 || header !== 'c2sp.org/tlog-proof@v1' || index === undefined || !path.every(isHash)) {
    throw new NotAuthentic(
      'The proof that the checkpoint is in the log of all organizations is not a valid tlog-proof.',
    );
  }
  const { signer } = checkpoint;
  const name = `advocacy-api/${ALL.name}`;
  const log = checkpointBy(text.slice(end + 2), { ...signer, name, id: keyIdOf(name, signer.bytes) });
  const root = rootOfPath(claimHash(checkpoint), index, log.size, path);
  if (log.organizationId !== ALL.name || !root?.equals(log.root)) {
    throw new NotAuthentic(
      `The checkpoint is not in the log of all organizations. The proof does not match the log’s ${log.size} checkpoints.`,
    );
  }
  return { index, size: log.size, sealedAt: log.sealedAt };
}

function isHash(bytes: Buffer | undefined): bytes is Buffer {
  return bytes?.length === HASH;
}

/** RFC 9162, section 2.1.3.2. */
export function rootOfPath(
  leaf: Buffer,
  index: number,
  size: number,
  path: readonly Buffer[],
): Buffer | undefined {
  if (index >= size) return undefined;
  let [first, last, root] = [index, size - 1, leaf];
  for (const hash of path) {
    if (last === 0) return undefined;
    if (first % 2 === 1 || first === last) {
      root = parent(hash, root);
      while (first % 2 === 0 && first !== 0) [first, last] = [half(first), half(last)];
    } else {
      root = parent(root, hash);
    }
    [first, last] = [half(first), half(last)];
  }
  return last === 0 ? root : undefined;
}

const half = (number: number) => Math.floor(number / 2);

function parent(left: Buffer, right: Buffer): Buffer {
  const hash = Buffer.alloc(HASH);
  nodeHash(left, right, hash);
  return hash;
}
