import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { type Resource } from '#libs/resources';
import { inputOf, systemInput } from '#libs/rpc';
import { type Due, reactionTo } from '#libs/subscriptions';
import { Reaction } from './ask-to-confirm.js';
import { ConfirmationMails } from './confirmation-mails.js';
import { Confirmations } from './confirmations.js';
import { type PersonDetails, type Requested, type RequestKind } from './request.js';

/** Requests per query. */
const PAGE = 100;

/** Ends requests that no one confirmed, and destroys their data. */
@Injectable()
export class EndRequests {
  constructor(
    private readonly source: DataSource,
    private readonly projections: Projections,
    private readonly confirmations: Confirmations,
    private readonly mails: ConfirmationMails,
  ) {}

  /** Ends a request at the time for which `AskToConfirm` set the timer. */
  async overdue<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    { organizationId, id: requestId }: Due,
  ): Promise<void> {
    const input = systemInput(Reaction, organizationId, { requestId }, kind.names.timer);
    await this.confirmations.expire(kind, input, requestId, 'TIME');
    await this.mails.forget();
  }

  /**
   * Ends the requests of a deleted petition or form, because they can no longer be confirmed.
   *
   * @param name of the subscription to the event
   */
  async ofDeleted<Data extends Requested, Person extends PersonDetails>(
    kind: RequestKind<Data, Person>,
    { otherLinkTable }: Resource,
    event: RecordedEvent,
    name: string,
  ): Promise<void> {
    const { organizationId, streamId: recordId, position } = event;
    await this.projections.catchUp(position, [event.type]);
    const { idempotencyKey: _, ...context } = reactionTo(event, name);
    for (;;) {
      const pending = await this.source.query<{ id: string }[]>(
        `SELECT subject_id AS id FROM ${otherLinkTable}
         WHERE organization_id = $1 AND record_id = $2 AND ended_at IS NULL ORDER BY created_at, id LIMIT $3`,
        [organizationId, recordId, PAGE],
      );
      if (pending.length === 0) return;
      for (const { id: requestId } of pending) {
        const input = inputOf(Reaction, { requestId }, context);
        await this.confirmations.expire(kind, input, requestId, kind.names.recordDeleted);
      }
    }
  }
}
