import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AnchorDirectory, Anchors, type Checkpoint } from './index.js';

const organizationId = '01990a6e-1111-7000-8000-000000000001';
const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'anchors-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** Trees of one leaf and of two; `fork` makes others. */
const leaf = (n: number, fork: string) => sha256(Buffer.of(0), Buffer.from(`${fork}${n}`));
function checkpoint(size: 1 | 2, fork = ''): Checkpoint {
  const root = size === 1 ? leaf(1, fork) : sha256(Buffer.of(1), leaf(1, fork), leaf(2, fork));
  const note = `advocacy-api/${organizationId}\n${size}\n${root.toString('base64')}\n\n— note\n`;
  const proveFrom = () => Promise.resolve([leaf(2, fork)]);
  return { organizationId, size, root, note, proveFrom };
}
const store = () => new AnchorDirectory(join(directory, 'anchors'));
const kept = () => readdir(join(directory, 'anchors', organizationId));

it('keeps each checkpoint that goes on from the last one, once', async () => {
  const anchors = new Anchors(store());
  expect(await anchors.add(checkpoint(1))).toEqual({ isNew: true });
  expect(await anchors.add(checkpoint(1))).toEqual({ isNew: false });
  const later = new Anchors(store());
  expect(await later.add(checkpoint(1))).toEqual({ isNew: false });
  expect(await later.add(checkpoint(2))).toEqual({ isNew: true });
  // Whoever was slower finds it there.
  expect(await anchors.add(checkpoint(2))).toEqual({ isNew: false });
  expect(await kept()).toEqual(['000000000000001.checkpoint', '000000000000002.checkpoint']);
  expect(await store().organizations()).toEqual([organizationId]);
  expect(await store().read(organizationId, 2)).toBe(checkpoint(2).note);
});

it.each<[string, (1 | 2)[], Checkpoint, RegExp]>([
  ['another history of as many events', [1], checkpoint(1, 'fork'), /does not begin with the 1 events/],
  ['another, longer history', [1], checkpoint(2, 'fork'), /does not begin with the 1 events/],
  ['fewer events', [1, 2], checkpoint(1), /of 1 events, although one of 2 is anchored: it was rolled back/],
])('tells %s, and changes nothing', async (_, before, now, sentence) => {
  for (const size of before) await new Anchors(store()).add(checkpoint(size));
  const names = await kept();
  const added = await new Anchors(store()).add(now);
  const last = checkpoint(before.at(-1)!);
  expect(added).toEqual({ alarm: expect.stringMatching(sentence), notes: [last.note, now.note] });
  expect(await kept()).toEqual(names);
  expect(await store().read(organizationId, last.size)).toBe(last.note);
});

it('never puts one over another, whoever comes first, and tells who comes second', async () => {
  const forks = Array.from({ length: 10 }, (_, n) => checkpoint(1, `fork ${n}`));
  const added = await Promise.all(forks.map((fork) => new Anchors(store()).add(fork)));
  expect(added.filter((one) => 'isNew' in one && one.isNew)).toHaveLength(1);
  expect(added.filter((one) => 'alarm' in one)).toHaveLength(9);
  expect(await kept()).toHaveLength(1);
  const [name] = await kept();
  const winner = forks[added.findIndex((one) => 'isNew' in one)]!;
  expect(await readFile(join(directory, 'anchors', organizationId, name!), 'utf8')).toBe(winner.note);
});

it('takes no damaged anchor for none', async () => {
  await new Anchors(store()).add(checkpoint(1));
  await writeFile(join(directory, 'anchors', organizationId, '000000000000001.checkpoint'), '');
  await expect(new Anchors(store()).add(checkpoint(2))).rejects.toThrow(/is damaged: put back/);
});
