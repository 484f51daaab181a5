import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { v7 as uuidv7 } from 'uuid';
import { Signers, type SignedTree } from '#libs/sealing';
import { ALGORITHMS, cosignedBy, parseVerifierKey, readNote } from '#libs/verify';
import { WitnessState } from '../witness/state.js';
import { Witness, WitnessKey } from '../witness/witness.js';
import { readWitness, WitnessClient } from './witness-client.js';

const key = WitnessKey.make('w.example.org/1');
const signers = new Signers([Buffer.alloc(32, 1)]);
const organizationId = uuidv7();
const { signal } = new AbortController();
const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

/** Trees of one, two and three leaves with the same beginning; `fork` gives them different leaves. */
const leaf = (n: number, fork = '') => sha256(Buffer.of(0), Buffer.from(`${fork}${n}`));
const two = (fork?: string) => sha256(Buffer.of(1), leaf(1, fork), leaf(2, fork));
const three = (fork?: string) => sha256(Buffer.of(1), two(fork), leaf(3, fork));
const signed = (size: 1 | 2 | 3, fork = ''): SignedTree => {
  const root = [leaf(1, fork), two(fork), three(fork)][size - 1]!;
  const tree = { organizationId, size, root, position: size, sealedAt: new Date(0) };
  return { ...tree, note: signers.signCheckpoint(tree), isSignedByAll: true };
};
/** Proofs for the tree of three leaves. */
const prove = (size: number, fork = '') =>
  Promise.resolve({ 1: [leaf(2, fork), leaf(3, fork)], 2: [leaf(3, fork)] }[size] ?? []);

let server: Server;
let answer: (...given: Parameters<RequestListener>) => void | Promise<void>;
let asked: string[];
let client: WitnessClient;
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'witness-client-'));
  const witness = new Witness(key, await WitnessState.open(directory), [signers.verifierKey]);
  asked = [];
  answer = async (request, response) => {
    const body = await text(request);
    asked.push(body.split('\n', 1)[0]!);
    const added = await witness.add(body);
    response.writeHead(added.status, { 'Content-Type': added.type }).end(added.body);
  };
  server = createServer((request, response) => void answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = clientOf(urlOf(server));
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

/** Patient, because a busy machine may take seconds. */
const clientOf = (url: string, timeoutMs = 60_000) =>
  new WitnessClient({ url, verifierKey: key.verifierKey }, timeoutMs);
const urlOf = (listening: Server) => `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
const ask = (tree: SignedTree, known = 0, fork?: string) =>
  client.ask(tree, known, (size) => prove(size, fork), signal);

it('gets a cosignature of the checkpoint, whatever size it expects the witness to know', async () => {
  for (const [tree, known] of [
    [signed(1), 0],
    [signed(3), 1],
    [signed(3), 0],
    [signed(3), 2],
  ] as const) {
    const outcome = await ask(tree, known);
    if (outcome.is !== 'cosigned') throw new Error(JSON.stringify(outcome));
    const verifier = parseVerifierKey(key.verifierKey, ALGORITHMS.cosignature);
    expect(await cosignedBy(readNote(tree.note + outcome.line), verifier)).toBeDefined();
  }
  expect(asked).toEqual(['old 0', 'old 1', 'old 0', 'old 3', 'old 2', 'old 3']);
});

it('distinguishes a longer history, a different one of the same size, and an earlier fork', async () => {
  await ask(signed(2));
  expect(await ask(signed(1))).toEqual({ is: 'ahead', size: 2 });
  expect(await ask(signed(2, 'fork'))).toMatchObject({
    is: 'contradicted',
    reason: expect.stringContaining('a different history of 2 events'),
  });
  expect(await ask(signed(3, 'fork'), 0, 'fork')).toMatchObject({
    is: 'contradicted',
    reason: 'its checkpoint of 2 events contradicts this one: The proof does not lead from 2 to 3 events',
  });
  expect(await ask(signed(3))).toMatchObject({ is: 'cosigned' });
});

it('reports a witness’s rejection in its own words, without a full stop, because sentences contain it', async () => {
  const others = new Signers([Buffer.alloc(32, 2)]);
  const strange = { ...signed(1), note: others.signCheckpoint(signed(1)) };
  expect(await ask(strange)).toEqual({
    is: 'refused',
    reason: 'status 403: The checkpoint is not signed by a key known to this witness',
  });
});

const NO_ANSWER = 'no response in time';
const liar = WitnessKey.make(key.name);
it.each<[string, RequestListener, string]>([
  [
    'signs with another key',
    (_, to) => to.end(liar.cosign(readNote(signed(1).note).text, 1)),
    'missing or invalid',
  ],
  [
    'signs another checkpoint',
    (_, to) => to.end(key.cosign(readNote(signed(2).note).text, 1)),
    'missing or invalid',
  ],
  ['signs nothing', (_, to) => to.end('— w.example.org/1 AAAA\n'), 'missing or invalid'],
  ['returns nothing', (_, to) => to.end(), 'missing or invalid'],
  ['returns 409 with an invalid size', (_, to) => to.writeHead(409).end('1e9\n'), '409 without the size'],
  ['returns 409 with the size it was sent', (_, to) => to.writeHead(409).end('0\n'), '409 with the size'],
  [
    'sends without end',
    (_, to) => void setInterval(() => to.write('x'.repeat(9_999)), 1).unref(),
    'is too large',
  ],
  ['hangs', () => undefined, NO_ANSWER],
  ['leads elsewhere', (_, to) => to.writeHead(307, { Location: '/' }).end(), 'cannot be reached'],
  ['is broken', (_, to) => to.writeHead(500).end(`${'<'.repeat(201)}\n`), 'status 500'],
  ['hangs up', (_, to) => to.destroy(), 'cannot be reached'],
])('stores nothing from a witness that %s', async (_, lie, reason) => {
  answer = (request, response) => {
    request.resume();
    lie(request, response);
  };
  if (reason === NO_ANSWER) client = clientOf(urlOf(server), 500);
  const outcome = await ask(signed(1));
  expect(outcome).toEqual({ is: 'failed', reason: expect.stringContaining(reason) });
  expect(JSON.stringify(outcome)).not.toContain('<<');
});

it('stops if 409 is returned endlessly', async () => {
  let size = 2;
  answer = (_, response) => void response.writeHead(409).end(`${(size = size === 2 ? 1 : 2)}\n`);
  expect(await ask(signed(3))).toMatchObject({
    is: 'failed',
    reason: expect.stringContaining('kept returning 409'),
  });
});

it('is read from its key and address', () => {
  const { verifierKey } = key;
  expect(readWitness(`${verifierKey}@https://w.example.org/1/`)).toEqual({
    ...{ verifierKey, url: 'https://w.example.org/1' },
  });
  for (const wrong of [
    '',
    'https://w.example.org',
    verifierKey,
    `${verifierKey}@ftp://w.example.org`,
    `${verifierKey}@https://w.example.org/?a`,
    `${verifierKey}@https://user:word@w.example.org`,
    `${verifierKey.replace('w.', 'v.')}@https://w.example.org`,
    `${signers.verifierKey}@https://w.example.org`,
    `${key.text.trim()}@https://w.example.org`,
  ]) {
    expect(() => readWitness(wrong)).toThrow(/\.$/);
  }
});
