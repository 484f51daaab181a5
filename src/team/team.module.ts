import { ProductModule } from '#libs/modules';
import { AcceptInvitationHandler } from './accept-invitation.js';
import { InvitationLinks, InvitationMail } from './invitations.js';
import { replayableInvitations, replayableMembers } from './member-record.js';
import { member } from './member.js';
import { membersProjection } from './members.projection.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { Passkeys } from './passkeys.js';
import { Sessions } from './sessions.js';
import { SignInLinks } from './sign-in-links.js';
import { Team } from './team.js';
import { TeamMails } from './team-mails.js';
import { Users } from './users.js';

@ProductModule({
  operations,
  services: { team: 'Members of the organization, their roles, and invitations.' },
  reasons,
  streams: [member],
  projections: [membersProjection],
  replayables: [replayableMembers, replayableInvitations],
  subscriptions: [InvitationMail],
  // Accepting an invitation is authorized by its link, so it has no route.
  providers: [
    Team,
    Users,
    TeamMails,
    InvitationLinks,
    SignInLinks,
    Sessions,
    Passkeys,
    AcceptInvitationHandler,
  ],
  exports: [Team, Users, InvitationLinks, SignInLinks, Sessions, Passkeys],
})
export class TeamModule {}
