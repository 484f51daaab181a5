import { type Checkpoint } from './checkpoint.js';
import { type Code, type Cosignature } from './note.js';

/** The result of a verification. */
export type Verdict = {
  ok: boolean;
  /** Events read until the result was clear. */
  events: number;
  /** How many of these, from the first, are proved to belong to the checkpoint. */
  provedEvents: number;
  /** How many of these are newer than the checkpoint, so it does not cover them. */
  newerEvents: number;
  /** The first position at which the history differs from the sealed one; null if no event is wrong. */
  firstWrongPosition: number | null;
  /** The kind of the problem; null if there is none. */
  code: Code | null;
  /** The problem, in one or two sentences; null if there is none. */
  reason: string | null;
  /** How many of these have readable personal data that no digest covers, because a version up to 0.7.0 wrote them. */
  unprovedPersonal: number;
  /**
   * Suspicious findings that do not prove a change, the first `MOST_WARNINGS`. The position is null if no event
   * is concerned.
   */
  warnings: Warning[];
  /** The total number of warnings. */
  warningCount: number;
  /** The checkpoint of the comparison; null if it was not signed by the key. */
  checkpoint: Against | null;
};

type Warning = { position: number | null; reason: string };

/** A checkpoint in a verdict. */
export type Against = {
  organizationId: string;
  /** The number of events in the tree. */
  size: number;
  /** Every event up to this position is in the tree. */
  position: number;
  /** When it was sealed, RFC 3339. */
  sealedAt: string;
  /** The name and id of the key that signed it. */
  key: string;
  /** The name and id of the given key, if that key has been replaced. */
  givenKey?: string;
  /** The requested witnesses that have cosigned it; absent if none were requested. */
  witnesses?: readonly Cosignature[];
  /** Its place in the log of all organizations; absent without a proof. */
  inAll?: InAll;
  /** What the register proves; absent without a register. */
  register?: Registered;
};

/** `index`: the leaf's number, from 0. `size` and `sealedAt`: the log's leaves, and when. */
export type InAll = { index: number; size: number; sealedAt: string };

/** `events` and `sealedAt`: of the register. `upTo`: this many events of the organization have no second history in it. */
export type Registered = { events: number; sealedAt: string; upTo: number };

export function againstOf(checkpoint: Checkpoint): Against {
  const { organizationId, size, position, sealedAt, key, givenKey } = checkpoint;
  return { organizationId, size, position, sealedAt, key, ...(givenKey && { givenKey }) };
}

export const MOST_WARNINGS = 20;
