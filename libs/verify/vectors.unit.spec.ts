import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { longIt } from '../../test/length.js';
import { verifyCertificate, verifyTwice } from '../../test/verifiers.js';
import { verifyCount } from './count.js';
import { toBase64 } from './platform.js';
import { rootOfPath, Tree } from './tree.js';

/** The vectors that other implementations run. Released ones never change. */
const file = join(__dirname, '../../docs/spec/history-format.json');
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vectors;

type Vectors = {
  digests: {
    canonical: string;
    recordedAt: string;
    digest: string;
    position: number;
    leaf: string;
    leafHash: string;
  }[];
  personalDigests: { personal: string; personalDigest: string }[];
  roots: { size: number; root: string }[];
  contradictions: unknown[];
  inclusion: { index: number; size: number; path: string[] }[];
  verdicts: VerdictVector[];
  registers: (VerdictVector & { register: { export: string; checkpoint: string }; upTo: number })[];
  certificates: CertificateVector[];
};
type CertificateVector = {
  name: string;
  certificate: string;
  key: string;
  ok: boolean;
  count: object | null;
};
type VerdictVector = {
  name: string;
  export: string;
  checkpoint: string;
  key: string;
  verdict: { [member: string]: unknown };
};

const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
const int64 = (number: number) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(number));
  return bytes;
};
const bytesOf = (base64: string) => Buffer.from(base64, 'base64');
const rootAt = (size: number) => bytesOf(vectors.roots.find((one) => one.size === size)!.root);

it.each(vectors.verdicts)('the verifiers agree with the vector: $name', async (vector) => {
  const { reason: _, warnings, ...verdict } = await verifyTwice(vector.export, vector.checkpoint, vector.key);
  expect({ ...verdict, warnings: warnings.map(({ position }) => position) }).toMatchObject(vector.verdict);
});

it.each(vectors.registers)('the verifiers agree with the vector of a register: $name', async (vector) => {
  const { register, upTo, verdict } = vector;
  const chunks = () => Readable.from([Buffer.from(register.export)]);
  const files = { chunks, checkpoint: register.checkpoint };
  const found = await verifyTwice(
    ...([vector.export, vector.checkpoint, vector.key, undefined, undefined] as const),
    files,
  );
  expect({ ...found, warnings: [] }).toMatchObject(verdict);
  expect(found.checkpoint?.register?.upTo ?? 0).toBe(upTo);
});

it.each(vectors.certificates)(
  'the verifiers agree with the vector of a count certificate: $name',
  async ({ certificate, key, ok, count }) => {
    const bytes = Buffer.from(certificate);
    expect(await verifyCount(Readable.from([bytes]), key)).toMatchObject({ ok, count });
    expect(await verifyCertificate(bytes, key)).toMatchObject({ ok, count });
  },
);

it('digests, leaves and roots are those of the vectors', () => {
  const tree = new Tree();
  for (const { size, root } of vectors.roots) {
    expect(toBase64(tree.root())).toBe(root);
    const event = vectors.digests[size];
    if (!event) continue;
    const digest = sha256(sha256(Buffer.from(event.canonical)), int64(Date.parse(event.recordedAt)));
    expect(digest.toString('hex')).toBe(event.digest);
    const leaf = Buffer.concat([int64(event.position), digest]);
    expect([leaf.toString('hex'), sha256(Buffer.of(0), leaf).toString('hex')]).toEqual([
      event.leaf,
      event.leafHash,
    ]);
    tree.append(sha256(Buffer.of(0), leaf));
  }
  for (const { personal, personalDigest } of vectors.personalDigests)
    expect(sha256(Buffer.from(personal)).toString('hex')).toBe(personalDigest);
});

it('the inclusion paths of the vectors lead to the root', () => {
  for (const { index, size, path } of vectors.inclusion) {
    const leaf = Buffer.from(vectors.digests[index]!.leafHash, 'hex');
    expect(rootOfPath(leaf, index, size, path.map(bytesOf))).toEqual(new Uint8Array(rootAt(size)));
  }
});

longIt('a verifier in Go, written from the specification only, agrees with all vectors', async () => {
  const cwd = join(__dirname, '../../test/stock-tools/verify');
  const env = { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' };
  const { stdout } = await promisify(execFile)('go', ['run', '.', file], { cwd, env });
  const { digests, contradictions, verdicts, registers, certificates } = vectors;
  expect(JSON.parse(stdout)).toEqual({
    digests: digests.length,
    contradictions: contradictions.length,
    verdicts: verdicts.length,
    registers: registers.length,
    certificates: certificates.length,
  });
});
