import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { verifyCount } from '#libs/verify';
import { endedImport } from './background-imports.js';
import { Api, type Client } from './harness.js';
import { isLong } from './length.js';
import { appendSignatures } from './signers.js';

let api: Api;
let client: Client;
let key: string;
let petitionId: string;
/** A certificate with a signature of each kind, and its lines. */
let text: string;
let lines: string[];

const verify = (certificate: string | readonly string[], by = key) => {
  const whole = typeof certificate === 'string' ? certificate : `${certificate.join('\n')}\n`;
  return verifyCount(Readable.from([Buffer.from(whole)]), by);
};
const certificate = async (of: Client, id: string): Promise<string> =>
  (await of.get('petition.get-count-certificate', { petitionId: id })).body;
const counted = async (id: string): Promise<number> =>
  (await client.get('petition.get-petition', { petitionId: id })).body.data.signatures;
const published = async (name: string, by = client): Promise<string> => {
  const id = (await by.post('petition.create-petition', { name })).body.data.petitionId;
  await by.post('petition.publish-petition', { petitionId: id });
  return id;
};

beforeAll(async () => {
  api = await Api.start();
  api.startWorkers();
  client = await api.organization();
  key = await (await fetch(`${client.origin}/.well-known/advocacy-verifier-key`)).text();
  petitionId = await published('Dam');
  const other = await published('Another');
  const sign = async (name: string, id = petitionId) => {
    const contact = { email: `${name}@example.org`, firstName: name };
    return (await client.post('petition.add-signature', { petitionId: id, contact })).body.data;
  };
  await sign('ada');
  await sign('ada', other);
  const gone = await sign('gone');
  const withdrawn = await sign('withdrawn');
  const again = await sign('again');
  const [survivor, twin] = [await sign('survivor'), await sign('twin')];
  const moved = await sign('moved');
  const { organizationId } = client;
  const into = (await client.post('contact.create-contact', { organizationId, email: 'into@example.org' }))
    .body.data;
  await sign('spam');
  await sign('restored');
  for (const { contactId } of [withdrawn, again])
    await client.delete('petition.remove-signature', { petitionId, contactId });
  await sign('again');
  await client.delete('contact.delete-contact', { contactId: gone.contactId });
  await client.post('contact.merge-contacts', { contactId: survivor.contactId, otherIds: [twin.contactId] });
  await client.post('contact.merge-contacts', { contactId: into.contactId, otherIds: [moved.contactId] });
  for (const email of ['spam@example.org', 'restored@example.org']) {
    const contacts = (await client.get('contact.list-contacts', { email })).body.data;
    const [signature] = (
      await client.get('petition.list-signatures', { petitionId, contactId: contacts[0].id })
    ).body.data;
    const { body } = await client.post('petition.invalidate-signatures', {
      petitionId,
      signatureIds: [signature.id],
    });
    const { invalidationId } = body.data;
    if (email.startsWith('restored')) await client.post('petition.restore-signatures', { invalidationId });
  }
  const csv = 'email,signedAt\npaper@example.org,2021-03-04T10:30:00.123Z\nsecond@example.org,\n';
  const path = `/v1/petition.import-signatures?petitionId=${petitionId}&subscribed=true`;
  const { body } = await client.request('POST', path, csv, { 'Content-Type': 'text/csv' });
  expect((await endedImport(body.data.importId, client)).status).toBe('DONE');
  text = await certificate(client, petitionId);
  lines = text.trimEnd().split('\n');
});
afterAll(() => api.stop());

it('counts what the petition counts, with each way a signature begins and ends', async () => {
  const verdict = await verify(text);
  const signatures = await counted(petitionId);
  expect(verdict).toMatchObject({
    ...{ ok: true, reason: null, petitionId, organizationId: client.organizationId },
    count: { signatures, withdrawn: 3, invalidated: 1 },
  });
  expect(signatures).toBe(8);
  expect(JSON.parse(lines.at(-1)!)).toEqual(verdict.count);
});

it('has no readable personal data', () => {
  expect(text).not.toMatch(/@example|"personal":\{|\$salt/);
});

it('a petition without signatures has a certificate of zero', async () => {
  const count = { signatures: 0, withdrawn: 0, invalidated: 0 };
  expect(await verify(await certificate(client, await published('Empty')))).toMatchObject({
    ok: true,
    count,
  });
});

it('returns 404 for a petition of another organization', async () => {
  const stranger = await api.organization();
  expect((await stranger.get('petition.get-count-certificate', { petitionId })).status).toBe(404);
});

it('signatures are proved among those of another petition, until one is changed', async () => {
  const { store } = api.instances[0]!.runtime;
  const own = await api.organization();
  const [one, other] = [randomUUID(), await published('Large', own)];
  const counts = isLong ? [300, 700, 99_000] : [30, 70];
  for (const count of counts) {
    await appendSignatures(store, own.organizationId, one, 257);
    await appendSignatures(store, own.organizationId, other, count);
  }
  const whole = await certificate(own, other);
  const signatures = counts.reduce((sum, count) => sum + count);
  expect(await verify(whole)).toMatchObject({ ok: true, count: { signatures } });
  // Others are only hashes, of as few subtrees as possible.
  expect(whole.match(/"leaves":/g)!.length).toBeLessThan(60);

  const all = whole.trimEnd().split('\n');
  const last = all.findLastIndex((line) => line.includes('"type":"PetitionSigned"'));
  const fewer = JSON.stringify({ signatures: signatures - 1, withdrawn: 0, invalidated: 0 });
  for (const [changed, reason] of [
    [all.with(-1, fewer), /but its events result in/],
    [all.toSpliced(last, 1).with(-1, fewer), /^The lines do not lead to the root/],
    [
      all.with(last, all[last]!.replace('"version":1', '"version":2')),
      `^Line ${last + 1} has a digest that does not match its content`,
    ],
  ] as const)
    expect(await verify(changed)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
});

describe('a changed certificate proves nothing, and the reason is named', () => {
  const eventAt = () => lines.findIndex((line) => line.includes('"type":"PetitionSigned"'));
  const without = (n: number) => lines.toSpliced(n, 1);
  const ROOT = /^The lines do not lead to the root of the checkpoint/;
  const leafOf = (line: string) => {
    const { position, digest } = JSON.parse(line);
    const leaf = Buffer.alloc(9);
    leaf.writeBigInt64BE(BigInt(position), 1);
    const hash = createHash('sha256').update(leaf).update(Buffer.from(digest, 'hex')).digest('base64');
    return JSON.stringify({ leaves: 1, hash });
  };
  const CHANGES: [what: string, change: () => string[], reason: RegExp][] = [
    [
      'a signature is missing',
      () => without(eventAt()),
      /^Line \d+ does not follow the previous event|^Line \d+ is not a complete subtree/,
    ],
    ['a hash is missing', () => without(1), /^Line \d+ is not a complete subtree|^The lines do not lead/],
    [
      'a signature is doubled',
      () => lines.toSpliced(eventAt(), 0, lines[eventAt()]!),
      /^Line \d+ does not follow/,
    ],
    [
      'a signature became a hash',
      () => lines.with(eventAt(), leafOf(lines[eventAt()]!)),
      /^Line \d+ does not follow the previous event/,
    ],
    [
      'a withdrawal became a signature',
      () => lines.map((line) => line.replace('"type":"SignatureWithdrawn"', '"type":"PetitionSigned"')),
      /^Line \d+ has a digest that does not match its content/,
    ],
    ['a hash differs', () => lines.with(1, lines[1]!.replace(/"hash":".{4}/, '"hash":"AAAA')), ROOT],
    [
      'the number differs',
      () => lines.with(-1, lines.at(-1)!.replace('"signatures":8', '"signatures":9')),
      /^The certificate states \{"signatures":9,.*but its events result in \{"signatures":8,/,
    ],
    ['the last line is missing', () => lines.slice(0, -1), /^The certificate is incomplete/],
    [
      'the petition differs',
      () => lines.with(0, lines[0]!.replace(petitionId, '00000000-0000-0000-0000-000000000009')),
      /^Line \d+ belongs to another petition/,
    ],
    [
      'the checkpoint differs',
      () => lines.with(0, lines[0]!.replace(/position \d+/, 'position 9')),
      /^The signature of the key \S+ does not match the checkpoint/,
    ],
    ['a line has white space', () => lines.with(1, lines[1]!.replace(':', ': ')), /^Line 2 /],
    ['it is empty', () => [''], /^Line 1 is not a JSON object/],
  ];

  it.each(CHANGES)('%s', async (_, change, reason) => {
    const { ok, count, reason: found } = await verify(change());
    expect([ok, count, found]).toEqual([false, null, expect.stringMatching(reason)]);
  });

  it('another key', async () => {
    const { name, id } = /^(?<name>[^+]+)\+(?<id>\w+)/.exec(key)!.groups!;
    const { ok, reason } = await verify(text, `${name}+${id}+${Buffer.alloc(33, 1).toString('base64')}`);
    expect([ok, reason]).toEqual([false, expect.stringContaining('verifier key is incomplete')]);
  });
});

it('history verify-count and advocacy-verify print a sentence, without a server', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'count-'));
  const file = join(directory, 'certificate.ndjson');
  await writeFile(file, text);
  const run = promisify(execFile);
  const root = join(__dirname, '..');
  const sentence = new RegExp(
    `^The history of organization ${client.organizationId} contains at least these signatures of petition ${petitionId}: 8 that`,
  );
  const both = [
    [join(root, 'dist/src/cli.js'), 'history', 'verify-count', file, '--key', key.trim()],
    [join(root, 'dist/advocacy-verify.mjs'), 'count', file, '--key', key.trim()],
  ];
  for (const args of both) expect((await run(process.execPath, args)).stdout).toMatch(sentence);
  await writeFile(file, text.replace('"signatures":8', '"signatures":9'));
  for (const args of both) {
    await expect(run(process.execPath, args)).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^The certificate proves nothing: The certificate states/),
    });
  }
  await rm(directory, { recursive: true });
});
