import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { type RecordedEvent } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { inputOf, OperationRunner } from '#libs/rpc';
import { reactionTo, type Subscription } from '#libs/subscriptions';
import { ExpireRequest } from './expire-request.js';
import { petitions } from './petitions.js';

const NAME = 'petition-deletions';
/** Requests per query. */
const PAGE = 100;

/** When a petition is deleted, ends the signatures that await confirmation, because they can no longer be confirmed. */
@Injectable()
export class PetitionDeletions implements Subscription {
  readonly name = NAME;
  readonly handles = ['PetitionDeleted'];
  readonly begins = 'at the first event';

  constructor(
    private readonly runner: OperationRunner,
    private readonly source: DataSource,
    private readonly projections: Projections,
  ) {}

  async handle(event: RecordedEvent): Promise<void> {
    const { organizationId, streamId: petitionId, position } = event;
    await this.projections.catchUp(position, [event.type]);
    const { idempotencyKey: _, ...context } = reactionTo(event, NAME);
    for (;;) {
      const pending = await this.source.query<{ id: string }[]>(
        `SELECT subject_id AS id FROM ${petitions.otherLinkTable}
         WHERE organization_id = $1 AND record_id = $2 AND ended_at IS NULL ORDER BY created_at, id LIMIT $3`,
        [organizationId, petitionId, PAGE],
      );
      if (pending.length === 0) return;
      for (const { id: requestId } of pending) {
        const fields = { requestId, reason: 'PETITION_DELETED', by: null } as const;
        await this.runner.execute(inputOf(ExpireRequest, fields, context));
      }
    }
  }
}
