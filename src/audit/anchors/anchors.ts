import { claimsOf, contradictionOf, headOf, isAhead, isConsistent, type TreeHead } from '../consistency.js';

/** Write-once storage for checkpoints. */
export interface AnchorStore {
  /** Ids of all organizations that have at least one checkpoint. */
  organizations(): Promise<string[]>;
  /**
   * The size of the organization's largest checkpoint; undefined if there is none.
   *
   * @param near an estimate, slightly too low.
   */
  largest(organizationId: string, near: number): Promise<number | undefined>;
  read(organizationId: string, size: number): Promise<string>;
  /** Never overwrites an existing checkpoint. @returns whether it was created. */
  create(organizationId: string, size: number, note: string): Promise<boolean>;
}

/** The store overwrites objects, so it cannot hold anchors. */
export class NotWriteOnce extends Error {}

/** The latest checkpoint that a server signed, and how it proves that an older tree is a prefix of it. */
export type Checkpoint = TreeHead & {
  organizationId: string;
  note: string;
  proveFrom: (size: number) => Promise<Buffer[]>;
  /** Requests new cosignatures; undefined: no witness is asked. @returns the note with its cosignatures. */
  cosign?: () => Promise<string>;
};

/** `alarm`: one sentence. `notes`: the notes that contradict each other, or the last one of a lost history. */
type Alarm = { alarm: string; notes: readonly string[] };
export type Anchored = { isNew: boolean } | Alarm;

/** Stores checkpoints outside the database, each only if it extends the last stored one. */
export class Anchors {
  /** The last checkpoint per organization that this process has seen. */
  private readonly last = new Map<string, TreeHead & { note: string }>();

  constructor(private readonly store: AnchorStore) {}

  /** @throws the errors of the store and of `proveFrom`; Error if the checkpoint is dated in the future. */
  async add(checkpoint: Checkpoint): Promise<Anchored> {
    const { organizationId, size, root } = checkpoint;
    const last = this.last.get(organizationId) ?? (await this.readLast(organizationId, size));
    const alarm = last && (await alarmOf(last, checkpoint));
    if (alarm) return alarm;
    if (last?.size === size) return { isNew: false };
    const claims = claimsOf(checkpoint.note);
    // Every later checkpoint with a true time would contradict it.
    if (claims && isAhead(claims, Date.now()))
      throw new Error(
        `the server dates its checkpoint in the future: ${claims.sealedAt}. Compare the clocks`,
      );
    const note = (await checkpoint.cosign?.()) ?? checkpoint.note;
    const isNew = await this.store.create(organizationId, size, note);
    // Another process may have stored a checkpoint first, possibly of a different history.
    if (!isNew) return (await alarmOf(await this.readOne(organizationId, size), checkpoint)) ?? { isNew };
    this.last.set(organizationId, { size, root, note });
    return { isNew };
  }

  /** Call it for an organization that has anchors, if the database no longer contains its history. */
  async lost(organizationId: string): Promise<Alarm | undefined> {
    const last = this.last.get(organizationId) ?? (await this.readLast(organizationId, 0));
    if (!last) return undefined;
    const reason = `the database contains no checkpoint, but one of ${last.size} events is anchored. The history was deleted.`;
    return { alarm: `Organization ${organizationId}: ${reason}`, notes: [last.note] };
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

async function alarmOf(
  last: TreeHead & { note: string },
  checkpoint: Checkpoint,
): Promise<Alarm | undefined> {
  const reason = await contradiction(last, checkpoint);
  if (reason === undefined) return undefined;
  return {
    alarm: `Organization ${checkpoint.organizationId}: ${reason}`,
    notes: [last.note, checkpoint.note],
  };
}

async function contradiction(
  last: TreeHead & { note: string },
  checkpoint: Checkpoint,
): Promise<string | undefined> {
  const { size } = checkpoint;
  if (size < last.size) {
    return `the server signs a history of ${size} events, but one of ${last.size} events is anchored. It was rolled back.`;
  }
  // Equal sizes need no proof: the roots are compared.
  const proof = size === last.size ? [] : await checkpoint.proveFrom(last.size);
  if (isConsistent(last, checkpoint, proof)) {
    const [anchored, signed] = [claimsOf(last.note), claimsOf(checkpoint.note)];
    const contradicting = anchored && signed && contradictionOf(anchored, signed);
    return (
      contradicting && `the checkpoint that the server signs contradicts the anchored one: ${contradicting}.`
    );
  }
  return `the history of ${size} events that the server signs does not begin with the ${last.size} anchored events.`;
}
