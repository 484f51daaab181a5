import { type Checkpoint } from './checkpoint.js';
import { type Cosignature } from './note.js';

/** What a verification found. */
export type Verdict = {
  ok: boolean;
  /** Events read until the verdict fell. */
  events: number;
  /** Of these, from the first on, how many are proved to be those of the checkpoint. */
  provedEvents: number;
  /** Of these, how many are newer than the checkpoint: it does not cover them. */
  newerEvents: number;
  /** The first position at which the history is not the one that was sealed; null where no event is wrong. */
  firstWrongPosition: number | null;
  /** In one sentence or two, what is wrong; null where nothing is. */
  reason: string | null;
  /** What is odd but no proof of a change, the first `MOST_WARNINGS` of them; the position is null where no event is meant. */
  warnings: Warning[];
  /** How many there are. */
  warningCount: number;
  /** What the history was compared with; null where that was no checkpoint of the key. */
  checkpoint: Against | null;
};

type Warning = { position: number | null; reason: string };

/** A checkpoint as a verdict names it. */
export type Against = {
  organizationId: string;
  /** Events in the tree. */
  size: number;
  /** No event at or below it is missing from the tree. */
  position: number;
  /** When, RFC 3339. */
  sealedAt: string;
  /** Name and id of the key that signed it. */
  key: string;
  /** Those of the key that was given, where the other has taken its place. */
  givenKey?: string;
  /** Those of the witnesses that were asked for who have cosigned it; absent where none was asked for. */
  witnesses?: readonly Cosignature[];
  /** Its place in the log of all organizations; absent where no proof of it was given. */
  inAll?: InAll;
};

/** The number of the leaf, from 0, and how many leaves the log had when. */
export type InAll = { index: number; size: number; sealedAt: string };

export function againstOf(checkpoint: Checkpoint): Against {
  const { organizationId, size, position, sealedAt, key, givenKey } = checkpoint;
  return { organizationId, size, position, sealedAt, key, ...(givenKey && { givenKey }) };
}

export const MOST_WARNINGS = 20;
