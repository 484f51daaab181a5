import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { type Past, type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Resources } from '#libs/resources';
import { Input, inputOf } from '#libs/rpc';
import { reactionTo, type Subscription } from '#libs/subscriptions';
import { ChosenSignatures, PAGE } from './chosen-signatures.js';
import { type InvalidationPlan, invalidationPlan, invalidationPlanId } from './invalidation-plan.js';
import { MAX_DURATION_MS } from './invalidate-in-pages.js';
import { invalidation } from './invalidation.js';
import { invalidations } from './invalidations.js';

const NAME = 'planned-invalidations';

/** The command of this subscription. It is not an operation of the API. */
class InvalidateMorePlanned extends Input {
  invalidationId!: string;
}

/** Like `Invalidations`, but for those whose conditions are in a plan. */
@Injectable()
export class PlannedInvalidations implements Subscription, OnModuleInit {
  readonly name = NAME;
  readonly handles = ['InvalidationPlanned', 'InvalidationPlanContinued'];
  readonly begins = 'at the first event';

  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly resources: Resources,
    private readonly chosen: ChosenSignatures,
    private readonly projections: Projections,
  ) {}

  /** The plan has an invalidation's conditions and whether it is still in progress. */
  onModuleInit(): void {
    this.resources.completeBy(invalidations, async (organizationId, records, past) => {
      // Invalidations that record their own conditions have no plan.
      const planned = records.filter(({ condition }) => condition === null);
      const plans = await this.plansOf(
        organizationId,
        planned.map(({ id }) => id),
        past,
      );
      for (const record of records) {
        const plan = plans.get(record.id);
        if (record.condition !== null)
          Object.assign(record.condition as object, { clientAddress: null, suspicion: null });
        if (!plan || plan.status === 'NONE') continue;
        record.condition = plan.condition;
        if (plan.status === 'UNDER_WAY' && record.status === 'INVALIDATED') record.status = 'INVALIDATING';
      }
    });
  }

  private async plansOf(
    organizationId: string,
    ids: readonly string[],
    past?: Past,
  ): Promise<Map<string, InvalidationPlan>> {
    const planIds = ids.map((id) => invalidationPlanId(id));
    const plans = await this.records.lookAll(invalidationPlan, organizationId, planIds, past);
    return new Map(ids.map((id, n) => [id, plans[n]!]));
  }

  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const invalidationId = event.data.invalidationId as string;
    // The expected versions of the streams make each page idempotent. With the event's idempotency key, only
    // the first page would be appended.
    const { idempotencyKey: _, ...context } = reactionTo(event, NAME);
    const input = inputOf(InvalidateMorePlanned, { invalidationId }, context);
    const endAt = Date.now() + MAX_DURATION_MS;
    for (let isOver = false; !isOver && !signal.aborted;) {
      const hasTime = Date.now() < endAt;
      const { decision } = await this.commands.run(input, () => this.next(input, hasTime));
      isOver = !hasTime || !decision?.writes.some(({ events }) => events.length > 0);
    }
  }

  private async next(
    { organizationId, invalidationId }: InvalidateMorePlanned,
    hasTime: boolean,
  ): Promise<Decision> {
    const planId = invalidationPlanId(invalidationId);
    const [{ state, version }, plan] = await Promise.all([
      this.records.load(invalidation, organizationId, invalidationId),
      this.records.load(invalidationPlan, organizationId, planId),
    ]);
    const nothing = { recordId: invalidationId, writes: [] };
    if (plan.state.status !== 'UNDER_WAY' || state.status === 'UNKNOWN') return nothing;
    const planEvent = (type: 'InvalidationPlanContinued' | 'InvalidationPlanEnded') =>
      writeTo(invalidationPlan, planId, plan.version, [{ type, data: { invalidationId } }]);
    // A restore has begun.
    if (state.status !== 'INVALIDATED') return { ...nothing, writes: [planEvent('InvalidationPlanEnded')] };
    if (!hasTime) return { ...nothing, writes: [planEvent('InvalidationPlanContinued')] };

    // The projection may not have the previous page yet.
    await this.projections.catchUpWithLog();
    const { petitionId, condition, upTo } = plan.state;
    const signatureIds = await this.chosen.page(organizationId, { petitionId, upTo, condition }, state.last);
    const page = { petitionId, signatureIds, isLast: true };
    const more = signatureIds.length === 0 ? [] : [{ type: 'SignaturesInvalidated', data: page } as const];
    return {
      ...nothing,
      writes: [
        writeTo(invalidation, invalidationId, version, more),
        ...(signatureIds.length < PAGE ? [planEvent('InvalidationPlanEnded')] : []),
      ],
    };
  }
}
