import { Injectable } from '@nestjs/common';
import { Commands } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Resources } from '#libs/resources';
import { Input, inputOf } from '#libs/rpc';
import { reactionTo, type Subscription } from '#libs/subscriptions';
import { OfflineSignatures } from './offline-counts.js';
import { petitionGoal, petitionGoalId, reachGoal } from './petition-goal.js';
import { nextGoal, petition as decider, raiseGoal } from './petition.js';
import { petitions } from './petitions.js';

const NAME = 'petition-goals';

/** The command of this subscription. It is not an operation of the API. */
class ReachGoal extends Input {
  petitionId!: string;
}

/**
 * Appends `PetitionGoalReached` when a petition first has as many signatures as its goal: after a signature,
 * signatures on paper, a restore or a lowered goal. The projection's count decides, once it includes the event, so signatures
 * added and withdrawn within moments may be missed. Also raises the goal if the petition asks for it.
 */
@Injectable()
export class PetitionGoals implements Subscription {
  readonly name = NAME;
  readonly handles = ['PetitionSigned', 'SignaturesRestored', 'OfflineSignaturesRecorded', 'PetitionUpdated'];
  readonly begins = 'at the first event';

  constructor(
    private readonly commands: Commands,
    private readonly projections: Projections,
    private readonly resources: Resources,
    private readonly offline: OfflineSignatures,
  ) {}

  /** Only the last event of each petition: the count after it decides. */
  choose(events: readonly RecordedEvent[]): RecordedEvent[] {
    const last = new Map(events.map((event) => [petitionOf(event), event]));
    return [...last.values()].toSorted((one, other) => one.position - other.position);
  }

  async handle(event: RecordedEvent): Promise<void> {
    const { organizationId, position } = event;
    const petitionId = petitionOf(event);
    await this.projections.catchUp(position, [event.type]);
    const petition = await this.resources.find(petitions, organizationId, petitionId);
    if (!petition) return;
    const offline = await this.offline.total(organizationId, petitionId);
    const figures = { goal: petition.goal as number, signatures: (petition.signatures as number) + offline };
    const context = reactionTo(event, NAME);
    if (reachGoal(petitionGoal.initial, petitionId, figures).length > 0) {
      const input = inputOf(ReachGoal, { petitionId }, context);
      await this.commands.change(petitionGoal, input, petitionGoalId(petitionId), (state) =>
        reachGoal(state, petitionId, figures),
      );
    }
    if (petition.autoGoal !== true || nextGoal(figures, figures.signatures) === null) return;
    // The first command has the event's idempotency key. This one is idempotent by its effect.
    const { idempotencyKey: _, ...again } = context;
    const input = inputOf(ReachGoal, { petitionId }, again);
    await this.commands.change(decider, input, petitionId, (state) => raiseGoal(state, figures.signatures));
  }
}

function petitionOf({ type, streamId, data }: RecordedEvent): string {
  return type === 'PetitionUpdated' ? streamId : (data.petitionId as string);
}
