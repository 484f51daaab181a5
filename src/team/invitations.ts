import { Injectable } from '@nestjs/common';
import { EventStore, type RecordedEvent } from '#libs/event-store';
import { type Subscription } from '#libs/subscriptions';
import { PublicAddress } from '../config/index.js';
import { readSignedIds, signIds } from '#libs/event-store';
import { Team } from './team.js';
import { TeamMails } from './team-mails.js';

const PURPOSE = 'accept invitation';

export type InvitationName = { organizationId: string; invitationId: string };

@Injectable()
export class InvitationLinks {
  constructor(
    private readonly store: EventStore,
    private readonly address: PublicAddress,
  ) {}

  urlOf({ organizationId, invitationId }: InvitationName): string {
    const token = signIds(this.store.keyring, PURPOSE, [organizationId, invitationId]);
    return `${this.address.url}/dashboard/invitations/${token}`;
  }

  /** Undefined if the token was not issued here. */
  read(token: string): InvitationName | undefined {
    const ids = readSignedIds(this.store.keyring, PURPOSE, 2, token);
    return ids && { organizationId: ids[0]!, invitationId: ids[1]! };
  }
}

/** Sends the email for each invitation. */
@Injectable()
export class InvitationMail implements Subscription {
  readonly name = 'invitation-mail';
  readonly handles = ['MemberInvited', 'InvitationRenewed'];
  readonly begins = 'at the first event';

  constructor(
    private readonly team: Team,
    private readonly mails: TeamMails,
    private readonly links: InvitationLinks,
  ) {}

  async handle(event: RecordedEvent, signal: AbortSignal): Promise<void> {
    const { organizationId, streamId: invitationId, eventId } = event;
    const to = await this.team.emailOf(organizationId, invitationId);
    const { state } = await this.team.load(organizationId, invitationId);
    // Accepted or revoked since.
    if (to === null || state.status !== 'INVITED') return;
    const url = this.links.urlOf({ organizationId, invitationId });
    const { outcome, detail } = await this.mails.invite(
      { organizationId, eventId, userId: state.userId, to, url },
      signal,
    );
    if (outcome === 'unreachable') throw new Error(`The invitation could not be sent: ${detail}`);
  }
}
