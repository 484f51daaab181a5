/** What a verification found. */
export type Verdict = {
  ok: boolean;
  /** Events read until the verdict fell. */
  events: number;
  /** Of these, from the first on, how many are proved to be those of the checkpoint. */
  provedEvents: number;
  /** The first position at which the history is not the one that was sealed; null where no event is wrong. */
  firstWrongPosition: number | null;
  /** In one sentence or two, what is wrong; null where nothing is. */
  reason: string | null;
  /** What is odd but no proof of a change, the first `MOST_WARNINGS` of them; the position is null where no event is meant. */
  warnings: { position: number | null; reason: string }[];
  /** How many there are. */
  warningCount: number;
};

export const MOST_WARNINGS = 20;

/** An event as it was found, or what is wrong with it by itself. */
export type Found = { position: number; digest: Buffer } | { position: number; mistake: string };
