import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type Decision, RecordReader, writeTo } from '#libs/commands';
import { Projections } from '#libs/projections';
import { newId } from '#libs/random';
import { Suppressions } from '../suppressions/index.js';
import { reachOf } from './audience.js';
import { broadcast, momentOfSending, type ExistingBroadcast } from './broadcast.js';
import { Clicks } from './clicks.js';
import { type Blocked, MessageBuilder } from './message-builder.js';
import { Recipients } from './recipients.js';

/** Starts broadcasts: checks whether they can be sent, and fixes their recipients. */
@Injectable()
export class Starts {
  constructor(
    private readonly source: DataSource,
    private readonly projections: Projections,
    private readonly records: RecordReader,
    private readonly suppressions: Suppressions,
    private readonly messageBuilder: MessageBuilder,
    private readonly recipients: Recipients,
    private readonly clicks: Clicks,
  ) {}

  /**
   * Decides to start a broadcast and stores its recipients. They take effect only with the event: if two
   * requests start it at the same time, the recipients of one are never used and are deleted later.
   *
   * @returns the decision, or all blockers.
   */
  async decide(
    organizationId: string,
    broadcastId: string,
    { state, version }: { state: ExistingBroadcast; version: number },
  ): Promise<Decision | Blocked[]> {
    const { writing, blockers } = await this.messageBuilder.prepare(organizationId, broadcastId, state);
    const sendingId = newId();
    const reach = await reachOf(
      this.source,
      this.projections,
      this.suppressions,
      organizationId,
      state.audience,
      {
        moment: momentOfSending(sendingId),
        keep: async (contactIds, transaction) => {
          if (blockers.length > 0) return;
          await this.recipients.fix(transaction, sendingId, organizationId, broadcastId, contactIds);
        },
      },
    );
    if (reach.total === 0) {
      const message = 'No one would receive this broadcast. Use broadcast.preview-audience to see why.';
      blockers.push({ blocker: 'NO_RECIPIENTS', path: 'audience', message });
    }
    if (blockers.length > 0) return blockers;
    if (state.countClicks) await this.clicks.store(organizationId, broadcastId, writing!.template.links);
    const { position, total: recipients, digest } = reach;
    const started = { type: 'BroadcastStarted', data: { sendingId, position, recipients, digest } } as const;
    return {
      recordId: broadcastId,
      writes: [writeTo(broadcast, broadcastId, version, [started])],
    };
  }

  /** The blockers to sending it now. Stores nothing. */
  async blockers(
    organizationId: string,
    broadcastId: string,
    fields: Parameters<MessageBuilder['prepare']>[2],
  ): Promise<Blocked[]> {
    const { blockers } = await this.messageBuilder.prepare(organizationId, broadcastId, fields);
    return blockers;
  }
}
