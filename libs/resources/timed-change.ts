import { Injectable, type Type } from '@nestjs/common';
import { Commands, RecordReader } from '#libs/commands';
import { type Decider, type DomainEvent, type RecordedEvent } from '#libs/event-store';
import { handlerOf, Input, OperationRunner, systemInput } from '#libs/rpc';
import { type Due, type Subscription, Subscriptions, type Timer } from '#libs/subscriptions';

type Declaration<State extends object, Event extends DomainEvent> = {
  /** The names of the subscription and of the timer. They are stored in the database, so they never change. */
  subscription: string;
  timer: string;
  decider: Decider<State, Event>;
  handles: NoInfer<Event>['type'][];
  /** RFC 3339; null if the record changes at no time. */
  timeOf: (state: State) => string | null;
  /** Returns no events if the record should not change (any more). @param moment the time, which has passed. */
  decide: (state: State, moment: Date) => NoInfer<Event>[];
};

/**
 * A change that a record makes at a time that it determines. It happens once across all instances, even if none ran at
 * that time.
 *
 * @returns a subscription that sets the timer from the current state, so that the last of two changes applies; the timer;
 *   and the handler of its command, which is not an operation of the API.
 */
export function timedChange<State extends object, Event extends DomainEvent>({
  subscription,
  timer,
  decider,
  handles,
  timeOf,
  decide,
}: Declaration<State, Event>): {
  subscription: Type<Subscription>;
  timer: Type<Timer>;
  handler: Type;
} {
  @Injectable()
  class Schedule implements Subscription {
    readonly name = subscription;
    readonly handles = handles;
    readonly begins = 'at the first event';

    constructor(
      readonly subscriptions: Subscriptions,
      readonly records: RecordReader,
    ) {}

    async handle({ organizationId, streamId: id }: RecordedEvent): Promise<void> {
      const { state } = await this.records.load(decider, organizationId, id);
      const time = timeOf(state);
      const { timers } = this.subscriptions;
      if (time === null) await timers.clear(timer, id);
      else await timers.set(timer, { organizationId, id, dueAt: new Date(time) });
    }
  }

  class ChangeNow extends Input {
    recordId!: string;
    /** The time, which has passed even if this instance's clock is behind. */
    moment!: Date;
  }

  const handler = handlerOf(ChangeNow, [Commands], (command, commands) =>
    commands.change(decider, command, command.recordId, (state) => decide(state, command.moment)),
  );

  @Injectable()
  class Alarm implements Timer {
    readonly name = timer;

    constructor(readonly runner: OperationRunner) {}

    async fire({ organizationId, id: recordId, dueAt: moment }: Due): Promise<void> {
      await this.runner.execute(systemInput(ChangeNow, organizationId, { recordId, moment }, timer));
    }
  }

  return { subscription: Schedule, timer: Alarm, handler };
}
