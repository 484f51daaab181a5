import { createHash } from 'node:crypto';
import { type Decider, streamIdOf } from '#libs/event-store';
import { type InvalidationCondition } from './invalidation.js';
import { type Suspicion } from './signature-request.js';

/** What versions before do not know how to look for. */
export type PlannedCondition = InvalidationCondition & {
  clientAddress: string | null;
  suspicion: Suspicion | null;
};

type Plan = { petitionId: string; condition: PlannedCondition; upTo: number; matched: number };

export type InvalidationPlanEvent =
  | { type: 'InvalidationPlanned'; data: Plan & { invalidationId: string } }
  /** It takes longer than a reaction may. */
  | { type: 'InvalidationPlanContinued'; data: { invalidationId: string } }
  | { type: 'InvalidationPlanEnded'; data: { invalidationId: string } };

export type InvalidationPlan = { status: 'NONE' } | (Plan & { status: 'UNDER_WAY' | 'ENDED' });

/**
 * By which conditions an invalidation goes on, where they are newer than its events: in a stream beside it. Each of its pages says that it
 * is the last, so that an instance of a version before, which would go on without these conditions, does not go on at all.
 */
export const invalidationPlan: Decider<InvalidationPlan, InvalidationPlanEvent> = {
  streamType: 'signature-invalidation-plan',
  initial: { status: 'NONE' },
  events: { InvalidationPlanned: true, InvalidationPlanContinued: true, InvalidationPlanEnded: true },
  evolve(state, event) {
    if (event.type === 'InvalidationPlanned') {
      const { petitionId, condition, upTo, matched } = event.data;
      return { status: 'UNDER_WAY', petitionId, condition, upTo, matched };
    }
    if (state.status === 'NONE') return state;
    return event.type === 'InvalidationPlanEnded' ? { ...state, status: 'ENDED' } : state;
  },
};

/** One for each invalidation, which whoever has its id can tell. */
export function invalidationPlanId(invalidationId: string): string {
  return streamIdOf(createHash('sha256').update(`invalidation-plan ${invalidationId}`).digest());
}

/** Whether versions before know how to look for all of it. */
export function needsPlan({ clientAddress, suspicion }: PlannedCondition): boolean {
  return clientAddress !== null || suspicion !== null;
}
