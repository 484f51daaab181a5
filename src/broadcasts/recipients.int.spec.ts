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

it('who is in doubt and surely got nothing waits again while others wait, and otherwise stays in doubt with its reason', async () => {
  const database = await createTestDatabase();
  const { source } = database;
  try {
    const [holder, sendingId] = [newId(), newId()];
    const ids = Array.from({ length: 4 }, () => newId());
    await source.query(
      `INSERT INTO broadcast_sendings (id, organization_id, broadcast_id, total, in_doubt) VALUES ($1, $2, $2, 4, 2)`,
      [sendingId, newId()],
    );
    const insert = (id: string, status: string) =>
      source.query(
        `INSERT INTO broadcast_recipients (sending_id, contact_id, status, holder, detail) VALUES ($1, $2, $3, $4, 'It died.')`,
        [sendingId, id, status, holder],
      );
    await insert(ids[0]!, 'IN_DOUBT');
    await insert(ids[1]!, 'IN_DOUBT');
    await insert(ids[2]!, 'PENDING');
    const settle = (contactId: string, status: string, by = holder) =>
      source.query('SELECT * FROM settle_and_claim_recipients($1, $2, $3)', [
        by,
        JSON.stringify([{ sendingId, contactId, status, detail: null, attempts: 0, pauseSeconds: 60 }]),
        '[]',
      ]);
    const stateOf = async (id: string) =>
      (await source.query('SELECT status, detail FROM broadcast_recipients WHERE contact_id = $1', [id]))[0];
    const inDoubt = async () =>
      (await source.query('SELECT in_doubt FROM broadcast_sendings WHERE id = $1', [sendingId]))[0].in_doubt;

    await settle(ids[0]!, 'PENDING');
    expect([await stateOf(ids[0]!), await inDoubt()]).toEqual([{ status: 'PENDING', detail: null }, 1]);
    // Another process knows nothing of it.
    await settle(ids[1]!, 'PENDING', newId());
    expect(await stateOf(ids[1]!)).toEqual({ status: 'IN_DOUBT', detail: 'It died.' });
    // The last ones: the broadcast may be counted at this moment.
    await source.query(`UPDATE broadcast_recipients SET status = 'SENT' WHERE status = 'PENDING'`);
    await settle(ids[1]!, 'PENDING');
    expect([await stateOf(ids[1]!), await inDoubt()]).toEqual([
      { status: 'IN_DOUBT', detail: 'It died.' },
      1,
    ]);
    await source.query('UPDATE broadcast_sendings SET is_over = true');
    await insert(ids[3]!, 'IN_DOUBT');
    await settle(ids[3]!, 'PENDING');
    expect(await stateOf(ids[3]!)).toEqual({ status: 'IN_DOUBT', detail: 'It died.' });
  } finally {
    await database.drop();
  }
});
