import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Input, OperationRunner, systemInput } from '#libs/rpc';
import { type Due, type Subscription, Subscriptions, type Timer } from '#libs/subscriptions';
import { closeAtItsEnd, exists, petition } from './petition.js';

const TIMER = 'petition-end';

/**
 * Sets the timer that closes each petition. Reads the current closing time, so the last of two changes
 * applies.
 */
@Injectable()
export class PetitionEnds implements Subscription {
  readonly name = 'petition-ends';
  readonly handles = ['PetitionCreated', 'PetitionUpdated', 'PetitionPublished'];
  readonly begins = 'at the first event';

  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly records: RecordReader,
  ) {}

  async handle({ organizationId, streamId: id }: RecordedEvent): Promise<void> {
    const { state } = await this.records.load(petition, organizationId, id);
    const { timers } = this.subscriptions;
    if (!exists(state) || state.closesAt === null) await timers.clear(TIMER, id);
    // Drafts and closed petitions keep no timer. Publishing them sets it.
    else if (state.status === 'PUBLISHED')
      await timers.set(TIMER, { organizationId, id, dueAt: new Date(state.closesAt) });
  }
}

/** Closes a petition at its closing time. Not an operation of the API: users call close-petition. */
class EndPetition extends Input {
  petitionId!: string;
  /** The closing time, which has passed even if this instance's clock is behind. */
  moment!: Date;
}

@CommandHandler(EndPetition)
export class EndPetitionHandler implements ICommandHandler<EndPetition> {
  constructor(private readonly commands: Commands) {}

  async execute(command: EndPetition): Promise<void> {
    await this.commands.change(petition, command, command.petitionId, (state) =>
      closeAtItsEnd(state, command.moment),
    );
  }
}

@Injectable()
export class PetitionEnd implements Timer {
  readonly name = TIMER;

  constructor(private readonly runner: OperationRunner) {}

  async fire({ organizationId, id: petitionId, dueAt: moment }: Due): Promise<void> {
    await this.runner.execute(systemInput(EndPetition, organizationId, { petitionId, moment }, TIMER));
  }
}
