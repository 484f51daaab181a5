import { newId } from '#libs/random';
import { createTestDatabase } from '#libs/testing';

it('settles and claims by keys, however few recipients there were when they were last counted', async () => {
  const database = await createTestDatabase();
  try {
    const [holder, sendingId] = [newId(), newId()];
    const claimed = await database.source.transaction(async (transaction) => {
      await transaction.query('ANALYZE broadcast_recipients');
      await transaction.query(
        `INSERT INTO broadcast_sendings (id, organization_id, broadcast_id, total) VALUES ($1, $2, $2, 2000)`,
        [sendingId, newId()],
      );
      await transaction.query(
        `INSERT INTO broadcast_recipients (sending_id, contact_id)
         SELECT $1, gen_random_uuid() FROM generate_series(1, 2000)`,
        [sendingId],
      );
      const settleAndClaim = (settled: object[]): Promise<{ contact_id: string }[]> =>
        transaction.query('SELECT * FROM settle_and_claim_recipients($1, $2, $3)', [
          holder,
          JSON.stringify(settled),
          JSON.stringify([{ sendingId, count: 5 }]),
        ]);
      const first = await settleAndClaim([]);
      const sent = { sendingId, status: 'SENT', detail: null, attempts: 0, pauseSeconds: 0 };
      const second = await settleAndClaim(first.map(({ contact_id: contactId }) => ({ ...sent, contactId })));
      const [{ whole }] = await transaction.query(
        `SELECT seq_scan::int AS whole FROM pg_stat_xact_user_tables WHERE relname = 'broadcast_recipients'`,
      );
      const [sending] = await transaction.query('SELECT sent, total FROM broadcast_sendings WHERE id = $1', [
        sendingId,
      ]);
      return { ids: [...first, ...second].map(({ contact_id: id }) => id), whole, sending };
    });
    expect(new Set(claimed.ids).size).toBe(10);
    expect(claimed).toMatchObject({ whole: 0, sending: { sent: 5, total: 2000 } });
  } finally {
    await database.drop();
  }
});
