import { isId, malformedCursor, recordSchema, textOrNull, timestampOrNull } from '#libs/rpc';
import { includeInContacts } from '../contacts/index.js';
import { RECIPIENT_STATUSES, type RecipientStatus } from './recipients.js';

/** What became of a broadcast that was sent to a contact. */
export type DeliveryRecord = {
  broadcastId: string;
  status: RecipientStatus;
  at: Date | null;
  detail: string | null;
  bouncedAt: Date | null;
  complainedAt: Date | null;
  unsubscribedAt: Date | null;
};

const deliverySchema = recordSchema({
  broadcastId: { type: 'string' },
  status: { type: 'string', enum: [...RECIPIENT_STATUSES], description: 'See broadcast.list-recipients.' },
  at: { ...timestampOrNull, description: 'When the status last changed.' },
  detail: textOrNull,
  bouncedAt: timestampOrNull,
  complainedAt: timestampOrNull,
  unsubscribedAt: timestampOrNull,
});

includeInContacts('deliveries', {
  scope: 'broadcast:read',
  schema: deliverySchema,
  page: async ({ reads }, { organizationId, contactId, limit, cursor }) => {
    if (cursor !== undefined && !isId(cursor)) throw malformedCursor();
    // Ids of sendings are in the order of their start.
    const rows = await reads.query<(DeliveryRecord & { sendingId: string })[]>(
      `SELECT s.id AS "sendingId", s.broadcast_id AS "broadcastId", r.status, r.at, r.detail, r.bounced_at AS "bouncedAt",
         r.complained_at AS "complainedAt", r.unsubscribed_at AS "unsubscribedAt"
       FROM broadcast_sendings s
       JOIN LATERAL (
         SELECT * FROM broadcast_recipients r WHERE r.sending_id = s.id AND r.contact_id = $2 OFFSET 0
       ) r ON true
       WHERE s.organization_id = $1 AND ($3::uuid IS NULL OR s.id < $3)
       ORDER BY s.id DESC LIMIT $4`,
      [organizationId, contactId, cursor ?? null, limit + 1],
    );
    const hasMore = rows.length > limit;
    const page = rows.slice(0, limit);
    return {
      records: page.map(({ sendingId: _, ...delivery }) => delivery),
      pagination: { cursor: hasMore ? page.at(-1)!.sendingId : null, hasMore },
    };
  },
});
