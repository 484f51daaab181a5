import { Injectable } from '@nestjs/common';
import { Commands } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { Resources } from '#libs/resources';
import { Input } from '#libs/rpc';
import { reactionTo, type Subscription } from '#libs/subscriptions';
import { petitionGoal, petitionGoalId, reachGoal } from './petition-goal.js';
import { petitions } from './petitions.js';

const NAME = 'petition-goals';

/** The command of this reaction; no operation, for nobody else may say so. */
class ReachGoal extends Input {
  petitionId!: string;
}

/**
 * Appends `PetitionGoalReached` when a petition's signatures first are as many as its goal, be it that somebody signed, that
 * signatures were restored, or that the goal was lowered. What counts is what the read model counts once it shows the event: signatures that come and go within the same
 * moment may pass unnoticed.
 */
@Injectable()
export class PetitionGoals implements Subscription {
  readonly name = NAME;
  readonly handles = ['PetitionSigned', 'SignaturesRestored', 'PetitionUpdated'];
  readonly begins = 'at the first event';

  constructor(
    private readonly commands: Commands,
    private readonly projections: Projections,
    private readonly resources: Resources,
  ) {}

  /** The last event of each petition: the number after it is what counts. */
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
    const figures = { goal: petition.goal as number, signatures: petition.signatures as number };
    if (reachGoal(petitionGoal.initial, petitionId, figures).length === 0) return;
    const input = new ReachGoal();
    Object.assign(input, { organizationId, petitionId, context: reactionTo(event, NAME) });
    await this.commands.change(petitionGoal, input, petitionGoalId(petitionId), (state) =>
      reachGoal(state, petitionId, figures),
    );
  }
}

function petitionOf({ type, streamId, data }: RecordedEvent): string {
  return type === 'PetitionUpdated' ? streamId : (data.petitionId as string);
}
