import { newId } from '#libs/random';
import { createTestDatabase } from '#libs/testing';
import { Recipients } from './recipients.js';

it('settles and claims by index, even if the statistics of PostgreSQL are outdated', async () => {
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

it('retries in-doubt recipients that received nothing only while others are waiting, and otherwise keeps the doubt with its reason', async () => {
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
    // Another process cannot release it.
    await settle(ids[1]!, 'PENDING', newId());
    expect(await stateOf(ids[1]!)).toEqual({ status: 'IN_DOUBT', detail: 'It died.' });
    // The last recipients: the broadcast may be finishing at this moment.
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

it('deletes recipients of old, finished broadcasts, keeps the figures and accepts late bounces', async () => {
  const database = await createTestDatabase();
  const { source } = database;
  const recipients = new Recipients(source);
  try {
    const organizationId = newId();
    const sending = async (age: string, isOver: boolean, count = 3) => {
      const id = newId();
      await source.query(
        `INSERT INTO broadcast_sendings (id, organization_id, broadcast_id, total, sent, is_over, created_at)
         VALUES ($1, $2, $1, $3, $3, $4, clock_timestamp() - $5::interval)`,
        [id, organizationId, count, isOver, age],
      );
      await source.query(
        `INSERT INTO broadcast_recipients (sending_id, contact_id, status)
         SELECT $1, gen_random_uuid(), 'SENT' FROM generate_series(1, $2)`,
        [id, count],
      );
      return id;
    };
    const old = await sending('11 days', true, 15_000);
    const kept = [await sending('11 days', false), await sending('9 days', true)];
    const [recipient] = await recipients.page(old, { status: undefined, after: undefined, limit: 1 });
    expect(await recipients.areDeleted(organizationId, old)).toBe(false);
    expect(await recipients.deleteOld(10)).toBe(true);
    expect(await recipients.deleteOld(10)).toBe(false);
    expect(await recipients.areDeleted(organizationId, old)).toBe(true);
    for (const id of kept)
      expect(await recipients.page(id, { status: undefined, after: undefined, limit: 10 })).toHaveLength(3);
    await recipients.recordLateReport(organizationId, old, recipient!.contactId, 'bounced');
    const figures = await recipients.figures(organizationId, [old]);
    expect(figures.get(old)).toMatchObject({ total: 15_000, sent: 15_000, bounced: 0 });
  } finally {
    await database.drop();
  }
});
