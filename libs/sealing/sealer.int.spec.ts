import { verify } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { createTestDatabase, type TestDatabase } from '#libs/testing';
import { Sealer, Signer } from './index.js';
import { leafHash, nodeHash } from './merkle.js';
import { leafOf } from './sealer.js';

let database: TestDatabase;
let sealer: Sealer;
let other: Sealer;
beforeAll(async () => {
  database = await createTestDatabase();
  const logger = { warn: (entry: unknown) => fail(JSON.stringify(entry)) };
  sealer = new Sealer(database.source, logger);
  other = new Sealer((await database.another()).source, logger);
});
afterAll(() => database.drop());

function fail(message: string): never {
  throw new Error(message);
}

const metadata = { actor: { type: 'system', id: null }, requestId: 'test' } as const;
async function append(organizationId: string, events: number): Promise<void> {
  const happened = Array.from({ length: events }, (_, n) => ({ type: 'Happened', data: { n } }));
  const writes = [{ streamType: 'thing', streamId: uuidv7(), expectedVersion: 0, events: happened }];
  expect((await database.store.append({ organizationId, metadata, writes })).status).toBe('appended');
}
async function leavesOf(organizationId: string): Promise<Buffer[]> {
  const rows: { position: string; digest: Buffer }[] = await database.source.query(
    'SELECT position, digest FROM events WHERE organization_id = $1 ORDER BY position',
    [organizationId],
  );
  return rows.map(({ position, digest }) => leafHash(leafOf(Number(position), digest)));
}
function rootOfHashes(hashes: readonly Buffer[]): Buffer {
  if (hashes.length === 1) return hashes[0]!;
  const left = 2 ** (Math.ceil(Math.log2(hashes.length)) - 1);
  return nodeHash(rootOfHashes(hashes.slice(0, left)), rootOfHashes(hashes.slice(left)));
}

it('keeps a tree per organization, grown block by block, whoever seals', async () => {
  const [one, two] = [uuidv7(), uuidv7()];
  for (const [n, events] of [1, 2, 255, 1, 300, 40].entries()) {
    await append(one, events);
    if (n % 2) await append(two, 3);
    await Promise.all([sealer.seal(), other.seal(), other.seal({ ifFree: true })]);
  }
  for (const organizationId of [one, two]) {
    const leaves = await leavesOf(organizationId);
    const last = (await sealer.last(organizationId))!;
    expect(last).toMatchObject({ organizationId, size: leaves.length });
    expect(last.root.equals(rootOfHashes(leaves))).toBe(true);
  }
  const sealed = await sealer.last(one);
  await sealer.seal();
  expect(await sealer.last(one)).toEqual(sealed);
});

it('finds an event in the tree by its position', async () => {
  const organizationId = uuidv7();
  await append(organizationId, 600);
  await append(uuidv7(), 2);
  await append(organizationId, 5);
  await sealer.seal();
  const rows: { position: string }[] = await database.source.query(
    'SELECT position FROM events WHERE organization_id = $1 ORDER BY position',
    [organizationId],
  );
  for (const index of [0, 255, 256, 599, 600, 604]) {
    expect(await sealer.indexOf(organizationId, Number(rows[index]!.position))).toBe(index);
  }
  expect(await sealer.indexOf(organizationId, Number(rows[599]!.position) + 1)).toBeUndefined();
  expect(await sealer.indexOf(uuidv7(), 1)).toBeUndefined();
});

it('tells the complete parts of a tree, so that a difference can be placed', async () => {
  const organizationId = uuidv7();
  for (const events of [70, 500, 30]) await append(organizationId, events);
  await sealer.seal();
  const leaves = await leavesOf(organizationId);
  const { parts } = (await sealer.last(organizationId))!;
  expect(parts.map(({ leaves }) => leaves)).toEqual([256, 256]);
  for (const [n, part] of parts.entries()) {
    expect(part.hash.equals(rootOfHashes(leaves.slice(n * 256, n * 256 + 256)))).toBe(true);
    expect(await sealer.indexOf(organizationId, part.firstPosition)).toBe(n * 256);
    expect(await sealer.indexOf(organizationId, part.lastPosition)).toBe(n * 256 + 255);
  }
});

it('misses nothing and doubles nothing while writers go on, sealed by two at once', async () => {
  const organizationIds = Array.from({ length: 5 }, () => uuidv7());
  let writing = true;
  const seal = async (own: Sealer) => {
    while (writing) await own.seal();
  };
  const sealing = Promise.all([seal(sealer), seal(other)]);
  await Promise.all(
    organizationIds.map(async (organizationId, n) => {
      for (let round = 0; round < 60; round += 1) await append(organizationId, 1 + ((round + n) % 4));
    }),
  );
  writing = false;
  await sealing;
  await sealer.seal();
  for (const organizationId of organizationIds) {
    const leaves = await leavesOf(organizationId);
    const last = (await sealer.last(organizationId))!;
    expect([last.size, last.root.equals(rootOfHashes(leaves))]).toEqual([leaves.length, true]);
  }
});

describe('a tree that somebody damaged', () => {
  const warn = jest.fn();
  const seal = () => new Sealer(database.source, { warn }).seal();
  const tile = (change: string, organizationId: string) =>
    database.source.query(`${change} WHERE organization_id = $1 AND level = 0 AND index = 0`, [
      organizationId,
    ]);

  it.each([
    ['lost', 'DELETE FROM seal_tiles'],
    ['changed', `UPDATE seal_tiles SET hashes = set_byte(hashes, 5, 255 - get_byte(hashes, 5))`],
  ])('is made anew from the events where a tile was %s, and stops nobody', async (_, change) => {
    const [damaged, sound] = [uuidv7(), uuidv7()];
    for (const organizationId of [damaged, sound]) await append(organizationId, 30);
    await seal();
    await tile(change, damaged);
    for (const organizationId of [damaged, sound]) await append(organizationId, 10);
    await seal();
    for (const organizationId of [damaged, sound]) {
      const last = (await sealer.last(organizationId))!;
      expect([last.size, last.root.equals(rootOfHashes(await leavesOf(organizationId)))]).toEqual([40, true]);
    }
    expect(warn).not.toHaveBeenCalled();
  });

  it('is not signed on where the events are not what was sealed either; others go on', async () => {
    const [wrong, sound] = [uuidv7(), uuidv7()];
    for (const organizationId of [wrong, sound]) await append(organizationId, 30);
    await seal();
    await database.source.query('UPDATE seals SET root = sha256(root) WHERE organization_id = $1', [wrong]);
    for (const organizationId of [wrong, sound]) await append(organizationId, 10);
    await seal();
    expect([(await sealer.last(wrong))!.size, (await sealer.last(sound))!.size]).toEqual([30, 40]);
    expect(warn).toHaveBeenCalledWith(expect.objectContaining({ organizationId: wrong }));

    const root = rootOfHashes((await leavesOf(wrong)).slice(0, 30));
    await database.source.query('UPDATE seals SET root = $2 WHERE organization_id = $1', [wrong, root]);
    await append(wrong, 1);
    await seal();
    expect((await sealer.last(wrong))!.root.equals(rootOfHashes(await leavesOf(wrong)))).toBe(true);
  });
});

it('signs checkpoints that the verifier key verifies, and nothing else', () => {
  const signer = new Signer(Buffer.alloc(32, 3));
  const organizationId = uuidv7();
  const sealedAt = new Date('2026-11-21T08:00:00.000Z');
  const note = signer.signCheckpoint({
    organizationId,
    size: 2,
    root: Buffer.alloc(32, 9),
    position: 7,
    sealedAt,
    parts: [],
  });
  const [text, signatures] = note.split('\n\n') as [string, string];
  expect(text.split('\n')).toEqual([
    `advocacy-api/${organizationId}`,
    '2',
    Buffer.alloc(32, 9).toString('base64'),
    'position 7',
    'sealed 2026-11-21T08:00:00.000Z',
  ]);
  const [name, id, key] = signer.verifierKey.split('+') as [string, string, string];
  const signature = Buffer.from(signatures.trim().split(' ')[2]!, 'base64');
  expect(signatures.startsWith(`— ${name} `)).toBe(true);
  expect(signature.subarray(0, 4).toString('hex')).toBe(id);
  const spki = Buffer.concat([
    Buffer.from('302a300506032b6570032100', 'hex'),
    Buffer.from(key, 'base64').subarray(1),
  ]);
  const publicKey = { key: spki, format: 'der', type: 'spki' } as const;
  expect(verify(null, Buffer.from(`${text}\n`), publicKey, signature.subarray(4))).toBe(true);
  expect(verify(null, Buffer.from(`${text}x\n`), publicKey, signature.subarray(4))).toBe(false);
});
