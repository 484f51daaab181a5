import { IncidentLog } from '#libs/database';
import { type Projections } from '#libs/projections';
import { type Signers } from '#libs/sealing';
import { createTestDatabase, eventually, type TestDatabase } from '#libs/testing';
import { SelfCheck } from './self-check.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('reports findings and finds new subjects even if the next check is always due', async () => {
  const noProjections = { own: () => [] } as unknown as Projections;
  const logger = { log: jest.fn(), warn: jest.fn(), error: jest.fn() };
  const comparisons = { hands: () => Promise.resolve('Someone was here.') };
  // A round is shorter than a check, as on a machine that is too busy.
  const check = new SelfCheck(
    ...([database.source, noProjections, {} as Signers, 0.000_001, logger] as const),
    new IncidentLog(logger),
    comparisons,
  );
  check.start();
  try {
    await eventually(() => {
      expect(check.lastSeen?.findings).toMatchObject([{ subject: 'hands', finding: 'Someone was here.' }]);
    });
    await database.source.query('INSERT INTO signed_notes (organization_id) VALUES (gen_random_uuid())');
    await eventually(() => {
      expect(check.lastSeen?.subjects).toBe(2);
    });
  } finally {
    await check.stop();
  }
});
