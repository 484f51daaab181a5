import { Injectable, Logger } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, RecordReader, writeTo } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Input, OperationRunner, systemInput } from '#libs/rpc';
import { type Due, type Subscription, Subscriptions, type Timer } from '#libs/subscriptions';
import { broadcast, exists } from './broadcast.js';
import { Starts } from './starts.js';

const TIMER = 'broadcast-start';

/** Sets the timer that starts each scheduled broadcast. */
@Injectable()
export class BroadcastSchedules implements Subscription {
  readonly name = 'broadcast-schedules';
  readonly handles = ['BroadcastScheduled'];
  readonly begins = 'at the first event';

  constructor(private readonly subscriptions: Subscriptions) {}

  async handle({ organizationId, streamId: id, data }: RecordedEvent): Promise<void> {
    await this.subscriptions.timers.set(TIMER, {
      organizationId,
      id,
      dueAt: new Date(data.sendAt as string),
    });
  }
}

/** Starts a broadcast at its scheduled time. Not an operation of the API: users call send-broadcast. */
class StartScheduled extends Input {
  broadcastId!: string;
  /** The scheduled time. If the broadcast was rescheduled since, it does not start. */
  sendAt!: string;
}

@CommandHandler(StartScheduled)
export class StartScheduledHandler implements ICommandHandler<StartScheduled> {
  private readonly logger = new Logger('broadcasts');

  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly starts: Starts,
  ) {}

  async execute(command: StartScheduled): Promise<void> {
    const { organizationId, broadcastId, sendAt } = command;
    await this.commands.run(command, async () => {
      const { state, version } = await this.records.load(broadcast, organizationId, broadcastId);
      const isMeant = exists(state) && state.status === 'SCHEDULED' && state.sendAt === sendAt;
      if (!isMeant) return { recordId: broadcastId, writes: [] };
      const decided = await this.starts.decide(organizationId, broadcastId, { state, version });
      if (!Array.isArray(decided)) return decided;
      const blockers = decided.map(({ blocker }) => blocker);
      this.logger.warn({ message: 'a scheduled broadcast was not sent', broadcastId, reasons: blockers });
      const event = { type: 'BroadcastHindered', data: { hindrances: blockers } } as const;
      return { recordId: broadcastId, writes: [writeTo(broadcast, broadcastId, version, [event])] };
    });
  }
}

@Injectable()
export class BroadcastStart implements Timer {
  readonly name = TIMER;

  constructor(private readonly runner: OperationRunner) {}

  async fire({ organizationId, id: broadcastId, dueAt }: Due): Promise<void> {
    const fields = { broadcastId, sendAt: dueAt.toISOString() };
    await this.runner.execute(systemInput(StartScheduled, organizationId, fields, TIMER));
  }
}
