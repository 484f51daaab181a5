import {
  areSame,
  type Batch,
  type Checkpoint,
  insertedAt,
  leafHash,
  type Mistake,
  missingOf,
  Tree,
  type Verdict,
} from '#libs/verify';
import { type SealedLeaf, type Seals } from './seal-tables.js';

/** Compares stored events with the stored seals, one by one, before their verification. */
export class SealedEvents {
  private readonly tree = new Tree();
  private proved = 0;
  /** Whether the difference was found here, so that its reason is exact. */
  private isLocated = false;
  /** What is wrong with the seals. */
  private mistake: string | null;

  constructor(
    private readonly checkpoint: Checkpoint,
    private readonly seals: Seals,
  ) {
    this.mistake = seals.mistake;
  }

  /** The events up to the first one that was not sealed like this. */
  async *compare(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
    const { tree, seals } = this;
    const { size, position: upTo } = this.checkpoint;
    for await (const { events, mistake } of batches) {
      const begin = tree.size;
      const leaves = await seals.leaves?.(begin, Math.min(events.length + 1, size - begin));
      await seals.rows?.read(begin, begin + events.length);
      for (const [n, { position, digest }] of events.entries()) {
        const leaf = leafHash(position, digest);
        const sealed = leaves?.[tree.size - begin];
        if (tree.size < size && position <= upTo && sealed) {
          if (!areSame(sealed.hash, leaf)) {
            this.isLocated = true;
            yield { events: events.slice(0, n), mistake: difference(position, sealed) };
            return;
          }
          if (sealed.position !== position)
            this.mistake ??= `seal_tiles has position ${sealed.position} instead of ${position}`;
          this.proved += 1;
        }
        tree.append(leaf);
        this.mistake ??= seals.rows?.compare(tree, position) ?? null;
      }
      const next = tree.size < size && mistake ? leaves?.[tree.size - begin] : undefined;
      const isMissing = next && mistake && next.position < mistake.position && mistake.position <= upTo;
      this.isLocated = isMissing === true;
      yield isMissing ? { events, mistake: missingAt(next.position) } : { events, mistake };
    }
  }

  /** The verdict with what the seals show. */
  async judge(verdict: Verdict): Promise<Verdict> {
    const { tree, proved, seals, checkpoint } = this;
    const found = {
      ...verdict,
      provedEvents: Math.max(verdict.provedEvents, Math.min(proved, verdict.events)),
    };
    if (verdict.code === null || verdict.code === 'register') {
      const mistake = this.mistake ?? (await seals.rows?.end(tree.size));
      if (!mistake) return found;
      const reason = `Every event matches its digest, but the database’s own seals are wrong: ${mistake}.`;
      return { ...found, ok: false, code: 'seals', firstWrongPosition: null, reason };
    }
    const isVague = verdict.code === 'missing' && !this.isLocated;
    const [sealed] = isVague ? ((await seals.leaves?.(proved, 1)) ?? []) : [];
    if (sealed) {
      found.firstWrongPosition = sealed.position;
      found.reason = `${missingOf(checkpoint, proved)}, from position ${sealed.position} on.`;
    }
    if (this.mistake !== null && verdict.code !== 'revived')
      found.reason += ` The database’s own seals are wrong too: ${this.mistake}.`;
    return found;
  }
}

/** How an event differs from the one sealed at its place. */
function difference(position: number, sealed: SealedLeaf): Mistake {
  if (sealed.position < position) return missingAt(sealed.position);
  if (sealed.position > position) return { position, code: 'late', reason: insertedAt(position) };
  const reason = `The event at position ${position} differs from the sealed one, although it matches its digest.`;
  return { position, code: 'root', reason };
}

function missingAt(position: number): Mistake {
  return { position, code: 'missing', reason: `The event at position ${position} is missing.` };
}
