import { exportWithPersons } from '../contacts/index.js';

/** Broadcasts per query. Each costs one lookup. */
const PAGE = 500;

type Row = { sending_id: string; delivery: object | null };

/** Deliveries of broadcasts to a person, oldest first. */
exportWithPersons('deliveries', async function* (_, { organizationId, contactId }, source) {
  for (let after: string | null = null; ;) {
    const rows: Row[] = await source.query<Row[]>(
      `SELECT s.id AS sending_id, CASE WHEN r.contact_id IS NOT NULL THEN json_build_object(
         'broadcastId', s.broadcast_id, 'status', r.status, 'at', r.at, 'detail', r.detail, 'bouncedAt', r.bounced_at,
         'complainedAt', r.complained_at, 'unsubscribedAt', r.unsubscribed_at) END AS delivery
       FROM (
         SELECT id, broadcast_id FROM broadcast_sendings
         WHERE organization_id = $1 AND ($3::uuid IS NULL OR id > $3) ORDER BY id LIMIT ${PAGE}
       ) s
       LEFT JOIN LATERAL (
         SELECT * FROM broadcast_recipients r WHERE r.sending_id = s.id AND r.contact_id = $2
       ) r ON true
       ORDER BY s.id`,
      [organizationId, contactId, after],
    );
    yield rows.flatMap(({ delivery }) => delivery ?? []);
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.sending_id;
  }
});
