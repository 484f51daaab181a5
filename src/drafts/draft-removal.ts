import { Injectable } from '@nestjs/common';
import { type RecordedEvent } from '#libs/event-store';
import { type Subscription } from '#libs/subscriptions';
import { Drafts } from './drafts.js';

/** Deletes the drafts of removed members, and those of deleted records. */
@Injectable()
export class DraftRemoval implements Subscription {
  readonly name = 'draft-removal';
  readonly handles = ['MemberRemoved', 'PetitionDeleted', 'PostDeleted', 'BroadcastDeleted'];
  readonly begins = 'now';

  constructor(private readonly drafts: Drafts) {}

  handle({ organizationId, streamId }: RecordedEvent): Promise<void> {
    return this.drafts.deleteOf(organizationId, streamId);
  }
}
