import { createHash } from 'node:crypto';
import { type Decider, streamIdOf } from '#libs/event-store';

export type PetitionGoal = { isReached: boolean };

export type PetitionGoalEvent = {
  type: 'PetitionGoalReached';
  data: { petitionId: string; goal: number; signatures: number };
};

/**
 * A stream next to the petition's own: it adds no work to signing, and earlier versions that do not know its
 * event never load it.
 */
export const petitionGoal: Decider<PetitionGoal, PetitionGoalEvent> = {
  streamType: 'petition-goal',
  initial: { isReached: false },
  events: { PetitionGoalReached: true },
  evolve: () => ({ isReached: true }),
};

/** Derived from the petition's id. */
export function petitionGoalId(petitionId: string): string {
  return streamIdOf(createHash('sha256').update(`petition-goal ${petitionId}`).digest());
}

/** Appends the event only once, even if the count reaches the goal again later. */
export function reachGoal(
  { isReached }: PetitionGoal,
  petitionId: string,
  { goal, signatures }: { goal: number; signatures: number },
): PetitionGoalEvent[] {
  if (isReached || goal < 1 || signatures < goal) return [];
  return [{ type: 'PetitionGoalReached', data: { petitionId, goal, signatures } }];
}
