import { createHash } from 'node:crypto';
import { type Decider, streamIdOf } from '#libs/event-store';
import { type InvalidationCondition } from './invalidation.js';
import { type Suspicion } from '../confirmations/index.js';

/** Conditions that earlier versions cannot search for. */
export type PlannedCondition = InvalidationCondition & {
  clientAddress: string | null;
  suspicion: Suspicion | null;
};

type Plan = { petitionId: string; condition: PlannedCondition; upTo: number; matched: number };

export type InvalidationPlanEvent =
  | { type: 'InvalidationPlanned'; data: Plan & { invalidationId: string } }
  /** The next part starts a new run: one run would exceed the time limit of a subscription. */
  | { type: 'InvalidationPlanContinued'; data: { invalidationId: string } }
  | { type: 'InvalidationPlanEnded'; data: { invalidationId: string } };

export type InvalidationPlan = { status: 'NONE' } | (Plan & { status: 'UNDER_WAY' | 'ENDED' });

/**
 * The conditions of an invalidation that are newer than its events, in a separate stream. Every page of such
 * an invalidation is marked as the last one. An instance of an earlier version, which would ignore these
 * conditions, therefore does not continue it.
 */
export const invalidationPlan: Decider<InvalidationPlan, InvalidationPlanEvent> = {
  streamType: 'signature-invalidation-plan',
  isInternal: true,
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

/** Derived from the invalidation's id. */
export function invalidationPlanId(invalidationId: string): string {
  return streamIdOf(createHash('sha256').update(`invalidation-plan ${invalidationId}`).digest());
}

/** Whether a condition needs a plan because earlier versions cannot search for all of it. */
export function needsPlan({ clientAddress, suspicion }: PlannedCondition): boolean {
  return clientAddress !== null || suspicion !== null;
}
