import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { leafOf } from './growth.js';
import { ALL_ORGANIZATIONS, Checkpoints, NothingSealed, NotSealed, Sealer, Signers } from './index.js';
import { isConsistent, leafHash, nodeHash, rootOfPath } from './merkle.js';
import { isLong, longIt } from '../../test/length.js';
import { LEAF_AT, LEAVES_AT, STORED_TREES } from './stored-trees.js';

const signers = new Signers([Buffer.alloc(32, 3)]);
const log = jest.fn();
const logger = { log, warn: log, error: log };

let database: TestDatabase;
let sealer: Sealer;
let other: Sealer;
let checkpoints: Checkpoints;
beforeAll(async () => {
  database = await createTestDatabase();
  sealer = new Sealer(database.source, signers, logger);
  other = new Sealer((await database.another()).source, signers, logger);
  checkpoints = new Checkpoints(database.source, sealer);
});
afterAll(() => database.drop());
beforeEach(() => log.mockClear());

const sql = (text: string, values?: unknown[]): Promise<any[]> => database.source.query(text, values);

const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
async function append(organizationId: string, events: number): Promise<void> {
  const happened = Array.from({ length: events }, (_, n) => ({ type: 'Happened', data: { n } }));
  const writes = [{ streamType: 'thing', streamId: uuidv7(), expectedVersion: 0, events: happened }];
  expect((await database.store.append({ organizationId, metadata, writes })).status).toBe('appended');
}
async function sealed(events: number): Promise<string> {
  const organizationId = uuidv7();
  await append(organizationId, events);
  await sealer.seal();
  return organizationId;
}

type Leaf = { position: number; digest: Buffer; hash: Buffer };
async function leavesOf(organizationId: string): Promise<Leaf[]> {
  const rows: { position: string; digest: Buffer }[] = await sql(
    'SELECT position, digest FROM events WHERE organization_id = $1 ORDER BY position',
    [organizationId],
  );
  return rows.map(({ position, digest }) => ({
    position: Number(position),
    digest,
    hash: leafHash(leafOf(Number(position), digest)),
  }));
}
function rootOfHashes(hashes: readonly Buffer[]): Buffer {
  if (hashes.length === 1) return hashes[0]!;
  const left = 2 ** (Math.ceil(Math.log2(hashes.length)) - 1);
  return nodeHash(rootOfHashes(hashes.slice(0, left)), rootOfHashes(hashes.slice(left)));
}
const rootOfLeaves = (leaves: readonly Leaf[]) => rootOfHashes(leaves.map(({ hash }) => hash));

/** The last checkpoint is that of all events. */
async function expectSealed(organizationId: string): Promise<void> {
  const leaves = await leavesOf(organizationId);
  const last = await checkpoints.last(organizationId);
  expect([last.size, last.root.equals(rootOfLeaves(leaves))]).toEqual([leaves.length, true]);
  expect(signers.open(last.note)).toEqual(last);
}
const refusedAmong = async (organizationId: string) =>
  (await sealer.refused()).find((one) => one.organizationId === organizationId);

it('keeps a tree per organization that grows block by block, whichever instance seals', async () => {
  const [one, two] = [uuidv7(), uuidv7()];
  for (const [n, events] of [1, 2, 255, 1, 300, 40].entries()) {
    await append(one, events);
    if (n % 2) await append(two, 3);
    await Promise.all([sealer.seal(), other.seal(), other.seal({ ifFree: true })]);
  }
  for (const organizationId of [one, two]) await expectSealed(organizationId);
  const last = await checkpoints.last(one);
  await sealer.seal();
  expect(await checkpoints.last(one)).toEqual(last);
  expect(log).not.toHaveBeenCalled();
});

it('proves an event by its position, and seals unsealed events first', async () => {
  const organizationId = uuidv7();
  await append(organizationId, 600);
  await append(uuidv7(), 2);
  await append(organizationId, 5);
  const leaves = await leavesOf(organizationId);
  for (const index of [0, 255, 256, 599, 600, 604]) {
    const { position, digest, hash } = leaves[index]!;
    const proof = await checkpoints.prove(organizationId, { position, digest });
    expect([proof.index, proof.checkpoint.size]).toEqual([index, 605]);
    const root = rootOfPath(hash, index, 605, proof.path);
    expect(root!.equals(rootOfLeaves(leaves))).toBe(true);
  }
  await append(organizationId, 1);
  const { position, digest } = (await leavesOf(organizationId)).at(-1)!;
  expect((await checkpoints.prove(organizationId, { position, digest })).checkpoint.size).toBe(606);
});

it('has no checkpoint of an organization without events', async () => {
  await expect(checkpoints.last(uuidv7())).rejects.toThrow(NothingSealed);
});

it('returns the parts of a tree, so that a difference can be located', async () => {
  const organizationId = uuidv7();
  for (const events of [70, 500, 30]) await append(organizationId, events);
  await sealer.seal();
  const leaves = await leavesOf(organizationId);
  const parts = await checkpoints.parts(await checkpoints.last(organizationId));
  let start = 0;
  const expected = [256, 256, 64, 16, 8].map((width) => {
    const part = leaves.slice(start, (start += width));
    const root = rootOfLeaves(part).toString('base64');
    return `${part[0]!.position} ${part.at(-1)!.position} ${width} ${root}\n`;
  });
  expect(parts).toBe(expected.join(''));
});

it('seals each event exactly once while two instances seal and writers continue', async () => {
  const organizationIds = Array.from({ length: 5 }, () => uuidv7());
  let writing = true;
  const seal = async (own: Sealer) => {
    while (writing) await own.seal();
  };
  const sealing = Promise.all([seal(sealer), seal(other)]);
  await Promise.all(
    organizationIds.map(async (organizationId, n) => {
      for (let round = 0; round < (isLong ? 60 : 20); round += 1)
        await append(organizationId, 1 + ((round + n) % 4));
    }),
  );
  writing = false;
  await sealing;
  await sealer.seal();
  for (const organizationId of organizationIds) await expectSealed(organizationId);
});

it('continues block by block if an organization has more events than one block', async () => {
  const organizationId = await sealed(3);
  await sql(
    `INSERT INTO events (position, organization_id, stream_type, stream_id, version, event_id, type, schema, data,
                         metadata, recorded_at, digest)
     SELECT nextval('events_position'), $1, 'thing', gen_random_uuid(), 1, gen_random_uuid(), 'Happened', 1, '{}', '{}',
            clock_timestamp(), sha256(int4send(n)) FROM generate_series(1, 6000) n`,
    [organizationId],
  );
  // Sealing has skipped them, as for a quarantined organization.
  await sql('UPDATE sealing SET position = last_position()');
  await sealer.sign(organizationId);
  await expectSealed(organizationId);
});

describe('the seals of a day', () => {
  const sizes = async (organizationId: string) =>
    (await sql('SELECT size::int FROM seals WHERE organization_id = $1 ORDER BY size', [organizationId])).map(
      ({ size }) => size,
    );

  it('keeps the last one and those handed out, and for other days and versions only the last', async () => {
    const organizationId = uuidv7();
    const grow = async () => {
      await append(organizationId, 1);
      await sealer.seal();
    };
    await grow();
    await grow();
    expect(await sizes(organizationId)).toEqual([2]);
    await checkpoints.last(organizationId);
    await grow();
    await grow();
    expect(await sizes(organizationId)).toEqual([2, 4]);
    await sql(`UPDATE seals SET sealed_at = sealed_at - interval '1 day' WHERE organization_id = $1`, [
      organizationId,
    ]);
    await sql('UPDATE signed_notes SET note = NULL WHERE organization_id = $1', [organizationId]);
    await grow();
    await grow();
    // As an earlier version writes it.
    await sql('UPDATE seals SET kept = DEFAULT WHERE organization_id = $1 AND size = 6', [organizationId]);
    await grow();
    expect(await sizes(organizationId)).toEqual([2, 4, 6, 7]);
  });

  it('restores a seal that was deleted while it was being handed out', async () => {
    const organizationId = await sealed(2);
    const [before] = await sql('SELECT note FROM signed_notes WHERE organization_id = $1', [organizationId]);
    await append(organizationId, 1);
    await sealer.seal();
    await sql(`UPDATE signed_notes SET note = $2, refused = 'for a moment' WHERE organization_id = $1`, [
      organizationId,
      before.note,
    ]);
    expect((await checkpoints.last(organizationId)).size).toBe(2);
    await sql('DELETE FROM signed_notes WHERE organization_id = $1', [organizationId]);
    expect(await sizes(organizationId)).toEqual([2, 3]);
  });
});

describe('an attacker who can write to every table', () => {
  /** The digest need not be correct, because only the tree is checked here. */
  const rewriteEvents = async (organizationId: string, index: number) => {
    const { position } = (await leavesOf(organizationId))[index]!;
    await sql('GRANT UPDATE ON events TO CURRENT_USER');
    await sql('ALTER TABLE events DISABLE TRIGGER events_are_append_only');
    await sql('UPDATE events SET digest = sha256(digest) WHERE position = $1', [position]);
    await sql('ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_append_only');
  };
  /** Seals and tiles as if the events had always been as they are now. */
  const resealFromScratch = async (organizationId: string) => {
    const [{ note }] = await sql('SELECT note FROM signed_notes WHERE organization_id = $1', [
      organizationId,
    ]);
    for (const table of ['seals', 'seal_tiles', 'signed_notes']) {
      await sql(`DELETE FROM ${table} WHERE organization_id = $1`, [organizationId]);
    }
    await sql('INSERT INTO signed_notes (organization_id, look_at) VALUES ($1, now())', [organizationId]);
    await sealer.seal();
    await sql('UPDATE signed_notes SET note = $2 WHERE organization_id = $1', [organizationId, note]);
  };
  const changeSeal = (change: string) => (organizationId: string) =>
    sql(`UPDATE seals SET ${change} WHERE organization_id = $1`, [organizationId]);
  const changeNote =
    (change: (note: string, organizationId: string) => string) => async (organizationId: string) => {
      const [{ note }] = await sql('SELECT note FROM signed_notes WHERE organization_id = $1', [
        organizationId,
      ]);
      const forged = change(note, organizationId);
      expect(forged).not.toBe(note);
      await sql('UPDATE signed_notes SET note = $2 WHERE organization_id = $1', [organizationId, forged]);
    };
  const foreign = new Signers([Buffer.alloc(32, 66)]);

  const tables = ['seals', 'seal_tiles', 'signed_notes', 'events'];
  /** An organization's rows in a table, to restore them later. */
  const copyOf = (organizationId: string) =>
    Promise.all(
      tables.map((table) => sql(`SELECT * FROM ${table} WHERE organization_id = $1`, [organizationId])),
    );
  async function putBack(organizationId: string, copy: any[][]): Promise<void> {
    await sql('DELETE FROM seals WHERE organization_id = $1', [organizationId]);
    for (const { size, position, root, sealed_at, kept } of copy[0]!) {
      await sql('INSERT INTO seals VALUES ($1, $2, $3, $4, $5, $6)', [
        organizationId,
        size,
        position,
        root,
        sealed_at,
        kept,
      ]);
    }
    await sql('UPDATE signed_notes SET note = $2 WHERE organization_id = $1', [
      organizationId,
      copy[2]![0].note,
    ]);
    await sql('ALTER TABLE events DISABLE TRIGGER events_are_append_only');
    await sql('GRANT UPDATE ON events TO CURRENT_USER');
    for (const { position, digest, organization_id } of copy[3]!) {
      await sql('UPDATE events SET digest = $2, organization_id = $3 WHERE position = $1', [
        position,
        digest,
        organization_id,
      ]);
    }
    await sql('ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_append_only');
  }

  it.each<[string, (organizationId: string) => Promise<unknown>]>([
    ['another root in the last seal', changeSeal('root = sha256(root)')],
    ['another size of the last seal', changeSeal('size = size - 1')],
    [
      'a later position of the last seal, which would leave out events',
      changeSeal('position = position + 100'),
    ],
    ['another time of the last seal', changeSeal(`sealed_at = sealed_at - interval '1 hour'`)],
    [
      'a seal more',
      (organizationId) =>
        sql('INSERT INTO seals SELECT $1, 45, max(position), sha256($2), now() FROM seals', [
          organizationId,
          'forged',
        ]),
    ],
    ['no seals', (organizationId) => sql('DELETE FROM seals WHERE organization_id = $1', [organizationId])],
    [
      'a rewritten history, with all its seals and tiles',
      async (organizationId) => {
        await rewriteEvents(organizationId, 7);
        await resealFromScratch(organizationId);
      },
    ],
    [
      'a history that lacks its newest events, with all its seals and tiles',
      async (organizationId) => {
        const { position } = (await leavesOf(organizationId))[20]!;
        await sql('GRANT UPDATE ON events TO CURRENT_USER');
        await sql('ALTER TABLE events DISABLE TRIGGER events_are_append_only');
        await sql('UPDATE events SET organization_id = $2 WHERE organization_id = $1 AND position >= $3', [
          organizationId,
          uuidv7(),
          position,
        ]);
        await sql('ALTER TABLE events ENABLE ALWAYS TRIGGER events_are_append_only');
        await resealFromScratch(organizationId);
      },
    ],
    ['a note of another size', changeNote((note) => note.replace('\n30\n', '\n31\n'))],
    ['a note by another key', changeNote((note) => foreign.signCheckpoint(signers.open(note)!))],
    [
      'a note of another organization',
      changeNote((note) => signers.signCheckpoint({ ...signers.open(note)!, organizationId: uuidv7() })),
    ],
  ])(
    'gets nothing signed after %s; other organizations continue, and this one does after the repair',
    async (_, forge) => {
      const [wrong, sound] = [await sealed(30), await sealed(30)];
      const { note } = await checkpoints.last(wrong);
      const copy = await copyOf(wrong);
      await forge(wrong);
      log.mockClear();
      for (const organizationId of [wrong, sound]) await append(organizationId, 10);
      await sealer.seal();
      await sealer.seal();
      await expectSealed(sound);

      const [row] = await sql('SELECT note FROM signed_notes WHERE organization_id = $1', [wrong]);
      if (row.note === note) {
        expect((await checkpoints.last(wrong)).note).toBe(note);
        const { position, digest } = (await leavesOf(wrong)).at(-1)!;
        await expect(checkpoints.prove(wrong, { position, digest })).rejects.toThrow(NotSealed);
      } else await expect(checkpoints.last(wrong)).rejects.toThrow(NotSealed);
      expect(log.mock.calls.filter(([line]) => line.organizationId === wrong)).toHaveLength(1);
      expect((await sealer.progress()).refused).toBe(1);
      expect((await refusedAmong(wrong))!.reason).toEqual(expect.any(String));
      expect(await sealer.mend(wrong)).toEqual(expect.any(String));

      await putBack(wrong, copy);
      expect(await sealer.mend(wrong)).toBeUndefined();
      await expectSealed(wrong);
      expect((await sealer.progress()).refused).toBe(0);
    },
  );

  it('cannot add a leaf to the tree by appending it to a tile', async () => {
    const organizationId = await sealed(256);
    await sql(
      `INSERT INTO seal_tiles SELECT organization_id, 0, 1, sha256('a leaf'), '{1}' FROM seal_tiles
       WHERE organization_id = $1 AND level = 0`,
      [organizationId],
    );
    await sql(
      `UPDATE seal_tiles SET hashes = hashes || sha256('a node') WHERE organization_id = $1 AND level = 1`,
      [organizationId],
    );
    await append(organizationId, 2);
    await sealer.seal();
    await expectSealed(organizationId);
    expect(log).not.toHaveBeenCalled();
  });

  it('gets nothing signed after an older note if the history sealed since then differs', async () => {
    const organizationId = await sealed(30);
    const [old] = await sql('SELECT note FROM signed_notes WHERE organization_id = $1', [organizationId]);
    await append(organizationId, 10);
    await sealer.seal();
    await sql('UPDATE signed_notes SET note = $2 WHERE organization_id = $1', [organizationId, old.note]);
    await rewriteEvents(organizationId, 35);
    await append(organizationId, 1);
    await sealer.seal();
    expect(await refusedAmong(organizationId)).toBeDefined();
    expect((await checkpoints.last(organizationId)).note).toBe(old.note);
    await sql('DELETE FROM signed_notes WHERE organization_id = $1', [organizationId]);
  });
});

describe('a seal of an earlier version', () => {
  const setNote = (organizationId: string, note: string | null) =>
    sql('UPDATE signed_notes SET note = $2 WHERE organization_id = $1', [organizationId, note]);
  /** Seals like version 0.3.0, which has no notes. */
  async function sealAsBefore(organizationId: string): Promise<string | null> {
    const [before] = await sql('SELECT note FROM signed_notes WHERE organization_id = $1', [organizationId]);
    await sealer.seal();
    const [after] = await sql('SELECT note FROM signed_notes WHERE organization_id = $1', [organizationId]);
    if (before) await setNote(organizationId, before.note);
    else await sql('DELETE FROM signed_notes WHERE organization_id = $1', [organizationId]);
    await sql('UPDATE seals SET kept = DEFAULT WHERE organization_id = $1', [organizationId]);
    return after.note;
  }

  it('is signed unchanged when it is requested', async () => {
    const organizationId = uuidv7();
    for (const events of [30, 300]) {
      await append(organizationId, events);
      const note = await sealAsBefore(organizationId);
      expect((await checkpoints.last(organizationId)).note).toBe(note);
      await expectSealed(organizationId);
    }
  });

  it('is signed with the next seal, even if no one requests it', async () => {
    const organizationId = await sealed(30);
    await append(organizationId, 300);
    await sealAsBefore(organizationId);
    await append(organizationId, 3);
    await sealer.seal();
    await expectSealed(organizationId);
    expect(log).not.toHaveBeenCalled();
  });

  it('is not signed if it does not follow from the last note and the events', async () => {
    const organizationId = await sealed(30);
    const { note } = await checkpoints.last(organizationId);
    await append(organizationId, 10);
    await sealAsBefore(organizationId);
    await sql('UPDATE seals SET root = sha256(root) WHERE organization_id = $1 AND size = 40', [
      organizationId,
    ]);
    expect((await checkpoints.last(organizationId)).note).toBe(note);
    expect(await refusedAmong(organizationId)).toBeDefined();
    await sql('DELETE FROM signed_notes WHERE organization_id = $1', [organizationId]);
  });

  it('is not signed if its tiles have a different root', async () => {
    const organizationId = await sealed(30);
    await sql('UPDATE signed_notes SET note = NULL WHERE organization_id = $1', [organizationId]);
    await sql('UPDATE seals SET root = sha256(root) WHERE organization_id = $1', [organizationId]);
    await expect(checkpoints.last(organizationId)).rejects.toThrow(NotSealed);
    expect(await sealer.mend(organizationId)).toMatch(/^the events do not match/);
    await sql('DELETE FROM signed_notes WHERE organization_id = $1', [organizationId]);
  });

  longIt('is signed at the start, like a note that a current key has not signed', async () => {
    const [unsigned, unknown, rotated] = [await sealed(3), await sealed(3), await sealed(3)];
    await setNote(unsigned, null);
    await sql('DELETE FROM signed_notes WHERE organization_id = $1', [unknown]);
    const both = new Signers([Buffer.alloc(32, 4), Buffer.alloc(32, 3)]);
    const starting = new Sealer(database.source, both, logger);
    starting.start(database.store.pulse);
    try {
      for (let isSigned = false; !isSigned;) {
        const notes = await sql('SELECT note FROM signed_notes WHERE organization_id = ANY ($1)', [
          [unsigned, unknown, rotated],
        ]);
        isSigned = notes.length === 3 && notes.every(({ note }) => note && both.open(note)?.isSignedByAll);
      }
    } finally {
      await starting.stop();
    }
    // Only the signatures differ.
    for (const organizationId of [unsigned, unknown, rotated]) await expectSealed(organizationId);
    expect(
      await new Sealer(database.source, new Signers([Buffer.alloc(32, 8)]), logger).isSignerOfDatabase(),
    ).toBe(false);
    expect(await sealer.isSignerOfDatabase()).toBe(true);
  });
});

describe('the log of all organizations', () => {
  type Entry = { organization_id: string; size: string; root: Buffer };
  const entries = (): Promise<Entry[]> => sql('SELECT * FROM checkpoint_leaves ORDER BY position');
  /** Computed as described in docs/spec/history-format.md. */
  const hashOf = ({ organization_id, size, root }: Entry) =>
    leafHash(
      Buffer.concat([
        Buffer.from(organization_id.replaceAll('-', ''), 'hex'),
        Buffer.from(BigInt(size).toString(16).padStart(16, '0'), 'hex'),
        root,
      ]),
    );
  const all = () => checkpoints.last(ALL_ORGANIZATIONS);
  const told = () => log.mock.calls.filter(([line]) => line.organizationId === 'all');

  async function expectInAll(organizationId: string): Promise<void> {
    const { checkpoint, inAll } = await checkpoints.lastInAll(organizationId);
    const { size, root } = checkpoint;
    const leaf = hashOf({ organization_id: organizationId, size: String(size), root });
    const { index, path, checkpoint: log } = inAll!;
    expect(rootOfPath(leaf, index, log.size, path)).toEqual(log.root);
    expect(log.note.startsWith(`advocacy-api/all\n${log.size}\n`)).toBe(true);
    expect(signers.open(log.note)).toEqual(log);
  }

  it('has a leaf for each signed checkpoint, in a tree that only grows, whichever instance adds them', async () => {
    await sealer.logAll();
    const organizationIds = Array.from({ length: 7 }, () => uuidv7());
    const random = (below: number) => Math.floor(Math.random() * below);
    let before = await all();
    for (let round = 0; round < (isLong ? 40 : 12); round += 1) {
      for (let n = random(3); n >= 0; n -= 1) await append(organizationIds[random(7)]!, 1 + random(3));
      await Promise.all([sealer.seal(), other.seal()]);
      if (random(2)) await Promise.all([sealer.logAll(), other.logAll()]);
      else await other.log(organizationIds[random(7)]!);
      const now = await all();
      const proof = await checkpoints.consistency(now, before.size);
      expect(isConsistent(before, now, proof)).toBe(true);
      before = now;
    }
    await sealer.logAll();
    const leaves = await entries();
    const { size, root, position } = await all();
    expect([size, position]).toEqual([leaves.length, leaves.length]);
    expect(root).toEqual(rootOfHashes(leaves.map(hashOf)));
    for (const organizationId of organizationIds) {
      const exists = (await leavesOf(organizationId)).length > 0;
      if (exists) await expectInAll(organizationId);
      const own = leaves.filter(({ organization_id }) => organization_id === organizationId);
      expect(own.map(({ size }) => Number(size))).toEqual(
        [...new Set(own.map(({ size }) => Number(size)))].sort((a, b) => a - b),
      );
    }
    // Nothing more to add.
    await sealer.logAll();
    expect((await all()).size).toBe(size);
    expect(log).not.toHaveBeenCalled();
  });

  it('adds requested checkpoints first, and the others a block at a time', async () => {
    await sql(
      `INSERT INTO events (position, organization_id, stream_type, stream_id, version, event_id, type, schema, data,
                           metadata, recorded_at, digest)
       SELECT nextval('events_position'), gen_random_uuid(), 'thing', gen_random_uuid(), 1, gen_random_uuid(), 'Happened', 1,
              '{}', '{}', clock_timestamp(), sha256(int4send(n)) FROM generate_series(1, 600) n`,
    );
    const asked = await sealed(1);
    const before = (await entries()).length;
    await expectInAll(asked);
    expect((await entries()).length).toBe(before + 501);
    await sealer.logAll();
    expect((await entries()).length).toBe(before + 601);
  });

  it.each<[string, string, string]>([
    [
      'a leaf more',
      `INSERT INTO checkpoint_leaves SELECT max(position) + 1, gen_random_uuid(), 9, sha256('9') FROM checkpoint_leaves`,
      `DELETE FROM checkpoint_leaves WHERE size = 9 AND root = sha256('9')`,
    ],
    [
      'the removal of its newest leaf',
      `CREATE TABLE gone AS SELECT * FROM checkpoint_leaves ORDER BY position DESC LIMIT 1;
       DELETE FROM checkpoint_leaves WHERE position = (SELECT position FROM gone)`,
      `INSERT INTO checkpoint_leaves SELECT * FROM gone; DROP TABLE gone`,
    ],
    [
      'another root in its seal',
      `UPDATE seals SET root = sha256(root) WHERE organization_id = '${ALL_ORGANIZATIONS}'`,
      `UPDATE seals SET root = (SELECT root FROM kept) WHERE organization_id = '${ALL_ORGANIZATIONS}' AND size = (SELECT size FROM kept)`,
    ],
    [
      'an older note, with the tables of that time',
      `UPDATE signed_notes SET note = (SELECT note FROM older) WHERE organization_id = '${ALL_ORGANIZATIONS}';
       DELETE FROM seals WHERE organization_id = '${ALL_ORGANIZATIONS}';
       INSERT INTO seals SELECT * FROM older_seal`,
      `UPDATE signed_notes SET note = (SELECT note FROM newer) WHERE organization_id = '${ALL_ORGANIZATIONS}';
       DELETE FROM seals WHERE organization_id = '${ALL_ORGANIZATIONS}';
       INSERT INTO seals SELECT * FROM kept`,
    ],
    [
      'no note',
      `UPDATE signed_notes SET note = NULL WHERE organization_id = '${ALL_ORGANIZATIONS}'`,
      `UPDATE signed_notes SET note = (SELECT note FROM newer) WHERE organization_id = '${ALL_ORGANIZATIONS}'`,
    ],
  ])('signs nothing after %s until the repair, while organizations continue', async (_, forge, mend) => {
    const ofAll = `WHERE organization_id = '${ALL_ORGANIZATIONS}'`;
    const keep = async (note: string, seal: string) => {
      await sql(`DROP TABLE IF EXISTS ${note}; DROP TABLE IF EXISTS ${seal}`);
      await sql(`CREATE TABLE ${note} AS SELECT note FROM signed_notes ${ofAll}`);
      await sql(`CREATE TABLE ${seal} AS SELECT * FROM seals ${ofAll} ORDER BY size DESC LIMIT 1`);
    };
    await checkpoints.lastInAll(await sealed(1));
    await keep('older', 'older_seal');
    const organizationId = await sealed(2);
    await checkpoints.lastInAll(organizationId);
    await keep('newer', 'kept');
    const [{ note }] = await sql(`SELECT note FROM newer`);
    const { refused } = await sealer.progress();
    log.mockClear();

    await sql(forge);
    await append(organizationId, 3);
    await sealer.seal();
    await sealer.logAll();
    await other.logAll();
    await expectSealed(organizationId);
    expect((await checkpoints.lastInAll(organizationId)).inAll).toBeUndefined();
    const [row] = await sql(`SELECT note FROM signed_notes ${ofAll}`);
    expect([note, null, (await sql('SELECT note FROM older'))[0].note]).toContain(row.note);
    expect(told()).toHaveLength(1);
    expect(await refusedAmong('all')).toBeDefined();
    expect((await sealer.progress()).refused).toBe(refused + 1);
    expect(await sealer.mend(ALL_ORGANIZATIONS)).toEqual(expect.any(String));

    await sql(mend);
    expect(await sealer.mend(ALL_ORGANIZATIONS)).toBeUndefined();
    await expectInAll(organizationId);
    expect((await sealer.progress()).refused).toBe(refused);
  });

  it('rebuilds its damaged tiles from its leaves', async () => {
    await sql(`UPDATE seal_tiles SET hashes = sha256(hashes) WHERE organization_id = $1 AND level = 0`, [
      ALL_ORGANIZATIONS,
    ]);
    const organizationId = await sealed(1);
    expect((await checkpoints.lastInAll(organizationId)).inAll).toBeUndefined();
    expect(await sealer.mend(ALL_ORGANIZATIONS)).toBeUndefined();
    await expectInAll(organizationId);
  });

  it('neither hands out nor continues from a note older than its leaf, or from a missing note', async () => {
    const organizationId = await sealed(30);
    const older = await checkpoints.last(organizationId);
    await append(organizationId, 10);
    await sealer.seal();
    await sealer.logAll();
    for (const note of [older.note, null]) {
      await sql('UPDATE signed_notes SET note = $2 WHERE organization_id = $1', [organizationId, note]);
      await sql('DELETE FROM seals WHERE organization_id = $1 AND size > 30', [organizationId]);
      await expect(checkpoints.last(organizationId)).rejects.toThrow(NotSealed);
      expect((await refusedAmong(organizationId))!.reason).toMatch(
        /contains a later or a different checkpoint/,
      );
      await sql('UPDATE signed_notes SET refused = NULL WHERE organization_id = $1', [organizationId]);
    }
    await sql('DELETE FROM signed_notes WHERE organization_id = $1', [organizationId]);
  });

  it('does not sign an event inserted under its id', async () => {
    const before = await all();
    await append(ALL_ORGANIZATIONS, 1);
    await sealer.sign(ALL_ORGANIZATIONS);
    expect(await all()).toEqual(before);
  });

  it('is signed again by a key that has not signed it yet', async () => {
    const both = new Signers([Buffer.alloc(32, 4), Buffer.alloc(32, 3)]);
    const rotated = new Checkpoints(database.source, new Sealer(database.source, both, logger));
    const before = await all();
    const after = await rotated.last(ALL_ORGANIZATIONS);
    expect([after.root, after.isSignedByAll]).toEqual([before.root, true]);
  });
});

it('is signed by another key after the key was lost, with the statements of the guide', async () => {
  const guide = await readFile(join(__dirname, '../../docs/guides/keys.md'), 'utf8');
  const [, statements] = /^```sql\n(UPDATE signed_notes .*?)^```/ms.exec(guide)!;
  const own = await createTestDatabase();
  try {
    const organizationId = uuidv7();
    const grow = async (by: Signers): Promise<number> => {
      const writes = [
        {
          streamType: 'thing',
          streamId: uuidv7(),
          expectedVersion: 0,
          events: [{ type: 'Happened', data: {} }],
        },
      ];
      await own.store.append({ organizationId, metadata, writes });
      const there = new Sealer(own.source, by, logger);
      await there.seal();
      const { checkpoint, inAll } = await new Checkpoints(own.source, there).lastInAll(organizationId);
      expect(by.open(inAll!.checkpoint.note)).toBeDefined();
      return checkpoint.size;
    };
    const next = new Signers([Buffer.alloc(32, 5)]);
    await grow(signers);
    await grow(signers);
    await own.source.query(statements!);
    expect([await grow(next), await grow(next)]).toEqual([3, 4]);
    expect(log).not.toHaveBeenCalled();
  } finally {
    await own.drop();
  }
});

describe('damaged tiles', () => {
  it.each([
    ['lost', 'DELETE FROM seal_tiles WHERE organization_id = $1 AND level = 0 AND index = 2'],
    [
      'changed',
      `UPDATE seal_tiles SET hashes = set_byte(hashes, 5, 255 - get_byte(hashes, 5))
       WHERE organization_id = $1 AND level = 1`,
    ],
    ['without positions', `UPDATE seal_tiles SET positions = '{}' WHERE organization_id = $1 AND index = 2`],
  ])('are rebuilt from the events if one was %s, while other organizations continue', async (_, damage) => {
    const [damaged, sound] = [await sealed(600), await sealed(30)];
    log.mockClear();
    await sql(damage, [damaged]);
    for (const organizationId of [damaged, sound]) await append(organizationId, 10);
    await sealer.seal();
    await expectSealed(sound);
    expect((await checkpoints.last(damaged)).size).toBe(600);
    expect(log.mock.calls.map(([{ message }]) => message)).toEqual([
      expect.stringMatching(/^tiles of a history/),
    ]);
    expect(await sealer.mend(damaged)).toBeUndefined();
    await expectSealed(damaged);
    expect(log.mock.calls.at(-1)![0].message).toMatch(/sealing resumes$/);
  });

  it.each([
    [
      'changed',
      `UPDATE seal_tiles SET hashes = set_byte(hashes, 5, 255 - get_byte(hashes, 5))
       WHERE organization_id = $1 AND level = 0 AND index = 1`,
    ],
    ['lost', 'DELETE FROM seal_tiles WHERE organization_id = $1 AND level = 0 AND index = 1'],
    [
      'given other positions',
      'UPDATE seal_tiles SET positions[3] = positions[4] WHERE organization_id = $1 AND level = 0 AND index = 1',
    ],
  ])(
    'are noticed by a proof if a full one was %s: it is not returned, and the tiles are rebuilt',
    async (_, damage) => {
      const organizationId = await sealed(600);
      const { position, digest } = (await leavesOf(organizationId))[258]!;
      const event = { position, digest };
      const proof = await checkpoints.prove(organizationId, event);
      const parts = await checkpoints.parts(proof.checkpoint);
      await sql(damage, [organizationId]);
      await expect(checkpoints.prove(organizationId, event)).rejects.toThrow(NotSealed);
      // In the background, as soon as possible.
      const [{ due }] = await sql(
        'SELECT look_at <= clock_timestamp() AS due FROM signed_notes WHERE organization_id = $1',
        [organizationId],
      );
      expect(due).toBe(true);
      other.start(database.store.pulse);
      while (await refusedAmong(organizationId));
      expect(await checkpoints.prove(organizationId, event)).toEqual(proof);
      expect(await checkpoints.parts(proof.checkpoint)).toBe(parts);
    },
  );
  afterAll(() => other.stop());

  it('are noticed by a proof from an older checkpoint, and by the parts', async () => {
    const organizationId = await sealed(700);
    const checkpoint = await checkpoints.last(organizationId);
    expect(await checkpoints.consistency(checkpoint, 300)).not.toEqual([]);
    const damage = () =>
      sql(
        `UPDATE seal_tiles SET hashes = set_byte(hashes, 5, 255 - get_byte(hashes, 5))
         WHERE organization_id = $1 AND level = 0 AND index = 1`,
        [organizationId],
      );
    await damage();
    await expect(checkpoints.consistency(checkpoint, 300)).rejects.toThrow(NotSealed);
    expect(await sealer.mend(organizationId)).toBeUndefined();
    expect(await checkpoints.consistency(checkpoint, 300)).not.toEqual([]);
    await sql(
      `UPDATE seal_tiles SET hashes = sha256(hashes) || substring(hashes FROM 33) WHERE organization_id = $1 AND level = 1`,
      [organizationId],
    );
    expect(await checkpoints.parts(checkpoint)).toBe('');
    expect(await sealer.mend(organizationId)).toBeUndefined();
  });
});

describe('a very long history', () => {
  const organizationId = uuidv7();
  beforeAll(async () => {
    await sql(
      `INSERT INTO seals SELECT $1, n, n, sha256(int4send(n)), now() FROM generate_series(1, 50000) n`,
      [organizationId],
    );
    await sql(
      `INSERT INTO seal_tiles SELECT $1, 0, n, '', ARRAY[n * 256::bigint] FROM generate_series(0, 20000) n`,
      [organizationId],
    );
    await sql('ANALYZE seals, seal_tiles');
  });

  /** The number of its rows that PostgreSQL read. */
  async function looked(table: string, text: string, values: unknown[]): Promise<number> {
    type Plan = { [name: string]: number | string } & { Plans?: Plan[] };
    const rowsOf = (plan: Plan): number => {
      const rows = Number(plan['Actual Rows']) + Number(plan['Rows Removed by Filter'] ?? 0);
      const own = plan['Relation Name'] === table ? rows * Number(plan['Actual Loops']) : 0;
      return (plan.Plans ?? []).reduce((sum, below) => sum + rowsOf(below), own);
    };
    const [row] = await sql(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
    return rowsOf(row['QUERY PLAN'][0].Plan as Plan);
  }

  it('its last seal is found by a single lookup', async () => {
    expect(await looked('seals', STORED_TREES, [[organizationId]])).toBe(1);
  });

  it('the tile of an event is found by a single lookup', async () => {
    for (const position of [1, 300, 5_000_000]) {
      expect(await looked('seal_tiles', LEAF_AT, [organizationId, position])).toBe(1);
    }
    expect(await looked('seal_tiles', LEAVES_AT, [organizationId, [1, 300, 5_000_000]])).toBe(3);
  });
});
