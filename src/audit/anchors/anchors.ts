import { headOf, isConsistent, type TreeHead } from '../verify/consistency.js';

/** Where checkpoints are kept that nobody is to change any more. */
export interface AnchorStore {
  /** Of which there is anything. */
  organizations(): Promise<string[]>;
  /**
   * The largest size of which there is a checkpoint.
   *
   * @param near where it probably is, a little below.
   */
  largest(organizationId: string, near: number): Promise<number | undefined>;
  read(organizationId: string, size: number): Promise<string>;
  /** Never over one that is there. @returns whether none was. */
  create(organizationId: string, size: number, note: string): Promise<boolean>;
}

/** What was written there can be overwritten: it is no place for anchors. */
export class NotWriteOnce extends Error {}

/** What a server signed last, and how it proves that an older tree is the beginning of it. */
export type Checkpoint = TreeHead & {
  organizationId: string;
  note: string;
  proveFrom: (size: number) => Promise<Buffer[]>;
  /** Asks witnesses for what is new; left out, nobody is asked. @returns the note with their cosignatures. */
  cosign?: () => Promise<string>;
};

/** `alarm`: a sentence, with the notes that contradict each other. */
export type Anchored = { isNew: boolean } | { alarm: string; notes: readonly string[] };

/** Keeps checkpoints outside, each only if it goes on from the last one that is kept. */
export class Anchors {
  /** The last one of each organization, as this process knows. */
  private readonly last = new Map<string, TreeHead & { note: string }>();

  constructor(private readonly store: AnchorStore) {}

  /** @throws what the store throws, and the proof. */
  async add(checkpoint: Checkpoint): Promise<Anchored> {
    const { organizationId, size, root } = checkpoint;
    const last = this.last.get(organizationId) ?? (await this.readLast(organizationId, size));
    if (last) {
      const reason = await contradiction(last, checkpoint);
      if (reason !== undefined)
        return { alarm: `Organization ${organizationId}: ${reason}`, notes: [last.note, checkpoint.note] };
      if (last.size === size) return { isNew: false };
    }
    const note = (await checkpoint.cosign?.()) ?? checkpoint.note;
    const isNew = await this.store.create(organizationId, size, note);
    // Another process may have been quicker, and of another history.
    if (!isNew) return this.compareWithStored(checkpoint);
    this.last.set(organizationId, { size, root, note });
    return { isNew };
  }

  private async compareWithStored(checkpoint: Checkpoint): Promise<Anchored> {
    const { organizationId, size, root, note } = checkpoint;
    const stored = await this.readOne(organizationId, size);
    if (stored.root.equals(root)) return { isNew: false };
    const alarm = `Organization ${organizationId}: another history of ${size} events is anchored.`;
    return { alarm, notes: [stored.note, note] };
  }

  private async readLast(
    organizationId: string,
    near: number,
  ): Promise<(TreeHead & { note: string }) | undefined> {
    const largest = await this.store.largest(organizationId, near);
    if (largest === undefined) return undefined;
    const last = await this.readOne(organizationId, largest);
    this.last.set(organizationId, last);
    return last;
  }

  private async readOne(organizationId: string, size: number): Promise<TreeHead & { note: string }> {
    const note = await this.store.read(organizationId, size);
    const head = headOf(note);
    if (head?.origin !== `advocacy-api/${organizationId}` || head.size !== size) {
      throw new Error(
        `The anchor of ${size} events of organization ${organizationId} is damaged. Restore it from a backup.`,
      );
    }
    return { ...head, note };
  }
}

async function contradiction(last: TreeHead, checkpoint: Checkpoint): Promise<string | undefined> {
  const { size } = checkpoint;
  if (size < last.size) {
    return `the server signs a history of ${size} events, but one of ${last.size} events is anchored. It was rolled back.`;
  }
  // Of equal sizes there is nothing to prove: the roots are compared.
  const proof = size === last.size ? [] : await checkpoint.proveFrom(last.size);
  if (isConsistent(last, checkpoint, proof)) return undefined;
  return `the history of ${size} events that the server signs does not begin with the ${last.size} anchored events.`;
}
