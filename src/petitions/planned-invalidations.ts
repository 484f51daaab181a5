import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { DamagedEvent, NewerEvent, type Past, type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Resources } from '#libs/resources';
import { Input } from '#libs/rpc';
import { reactionTo, type Subscription } from '#libs/subscriptions';
import { ChosenSignatures, PAGE } from './chosen-signatures.js';
import { type InvalidationPlan, invalidationPlan, invalidationPlanId } from './invalidation-plan.js';
import { invalidation } from './invalidation.js';
import { invalidations } from './invalidations.js';

const NAME = 'planned-invalidations';
/** Then whoever comes next goes on: far less than the time that a reaction has. */
const LONGEST_MS = 10_000;

/** The command of this reaction; no operation, for nobody else may say so. */
class InvalidateMorePlanned extends Input {
  invalidationId!: string;
}

/** As `Invalidations`, for those that go by a plan. */
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

  /** What an invalidation goes by, and whether it is still going on, its plan tells. */
  onModuleInit(): void {
    this.resources.completeBy(invalidations, async (organizationId, records, past) => {
      // Those that say by what they go have no plan.
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
    // All at once, unless one of them has what only a later version knows.
    const found = past
      ? undefined
      : await this.records.loadMany(invalidationPlan, organizationId, planIds).catch((error: unknown) => {
          if (error instanceof NewerEvent || error instanceof DamagedEvent) return undefined;
          throw error;
        });
    const plans = await Promise.all(
      planIds.map(
        async (id) =>
          (found?.get(id) ?? (await this.records.look(invalidationPlan, organizationId, id, past))).state,
      ),
    );
    return new Map(ids.map((id, n) => [id, plans[n]!]));
  }

  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const { organizationId } = event;
    const invalidationId = event.data.invalidationId as string;
    // What is appended holds for one version of the streams only: a key of its own would end it after the first page.
    const { idempotencyKey: _, ...context } = reactionTo(event, NAME);
    const input = Object.assign(new InvalidateMorePlanned(), { organizationId, invalidationId, context });
    const endAt = Date.now() + LONGEST_MS;
    for (let isOver = false; !isOver && !signal.aborted;) {
      const mayGoOn = Date.now() < endAt;
      const { decision } = await this.commands.run(input, () => this.next(input, mayGoOn));
      isOver = !mayGoOn || !decision?.writes.some(({ events }) => events.length > 0);
    }
  }

  private async next(
    { organizationId, invalidationId }: InvalidateMorePlanned,
    mayGoOn: boolean,
  ): Promise<Decision> {
    const planId = invalidationPlanId(invalidationId);
    const [{ state, version }, plan] = await Promise.all([
      this.records.load(invalidation, organizationId, invalidationId),
      this.records.load(invalidationPlan, organizationId, planId),
    ]);
    const nothing = { recordId: invalidationId, writes: [] };
    if (plan.state.status !== 'UNDER_WAY' || state.status === 'UNKNOWN') return nothing;
    const say = (type: 'InvalidationPlanContinued' | 'InvalidationPlanEnded') =>
      writeTo(invalidationPlan, planId, plan.version, [{ type, data: { invalidationId } }]);
    // Somebody takes it back already.
    if (state.status !== 'INVALIDATED') return { ...nothing, writes: [say('InvalidationPlanEnded')] };
    if (!mayGoOn) return { ...nothing, writes: [say('InvalidationPlanContinued')] };

    // Whoever appended the page before may still be waiting for the read model to have it.
    await this.projections.catchUpWithLog();
    const { petitionId, condition, upTo } = plan.state;
    const signatureIds = await this.chosen.page(organizationId, { petitionId, upTo, condition }, state.last);
    const page = { petitionId, signatureIds, isLast: true };
    const more = signatureIds.length === 0 ? [] : [{ type: 'SignaturesInvalidated', data: page } as const];
    return {
      ...nothing,
      writes: [
        writeTo(invalidation, invalidationId, version, more),
        ...(signatureIds.length < PAGE ? [say('InvalidationPlanEnded')] : []),
      ],
    };
  }
}
