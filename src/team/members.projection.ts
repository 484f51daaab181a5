import { type Projection, RecordTable, schemaOf } from '#libs/projections';
import { exists, member, type MemberEvent } from './member.js';

/** The context under which an address is encrypted. */
export const SEALED_EMAIL = 'member.email';

const rows = new RecordTable(
  member,
  'members',
  {
    user_id: { type: 'uuid', index: true },
    status: { type: 'text', index: true },
    role: { type: 'text' },
  },
  (state) => (exists(state) ? { user_id: state.userId, status: state.status, role: state.role } : undefined),
  { ownColumns: ['sealed_email bytea'] },
);

const SEALED = `
  UPDATE members m SET sealed_email = decode(e.sealed_email, 'hex')
  FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS e(organization_id, id, sealed_email)
  WHERE m.organization_id = e.organization_id AND m.id = e.id`;

/** Members and invited people of each organization. Addresses are encrypted. */
export const membersProjection: Projection<MemberEvent> = {
  name: 'members',
  version: 1,
  handles: [
    'MemberInvited',
    'InvitationRenewed',
    'InvitationAccepted',
    'InvitationRevoked',
    'MemberRoleChanged',
    'MemberRemoved',
  ],
  tables: `${rows.definition}
    CREATE INDEX members_by_user_everywhere ON members (user_id);`,
  async apply(events, transaction, seal) {
    await rows.apply(events, transaction);
    const sealed = events.flatMap((event) =>
      event.type === 'MemberInvited' && event.personal
        ? [
            [
              event.organizationId,
              event.streamId,
              seal(event, SEALED_EMAIL, event.personal.email).toString('hex'),
            ],
          ]
        : [],
    );
    if (sealed.length > 0)
      void transaction.send(
        SEALED,
        [0, 1, 2].map((n) => sealed.map((one) => one[n])),
      );
  },
  get snapshots() {
    return rows.snapshots(this);
  },
};

export const MEMBERS_TABLE = `${schemaOf(membersProjection)}.members`;
