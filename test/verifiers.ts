import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type RegisterFiles, type Verdict } from '#libs/verify';
import { verifyFile } from '../src/audit/index.js';

/**
 * The verdict on an export. The second verifier must agree in everything except wording. So must the first one as it runs in a
 * browser, without what it uses of Node.js.
 */
export async function verifyTwice(
  exported: string | Buffer,
  checkpoint: string,
  key: string,
  parts?: string,
  proof?: string,
  register?: RegisterFiles,
): Promise<Verdict> {
  const directory = await mkdtemp(join(tmpdir(), 'history-'));
  try {
    const file = join(directory, 'history.ndjson');
    await writeFile(file, exported);
    const ofRegister = register && {
      file: join(directory, 'register.ndjson'),
      checkpoint: register.checkpoint,
    };
    if (ofRegister) await writeFile(ofRegister.file, register.chunks());
    const [first, { second, third }] = await Promise.all([
      verifyFile(file, checkpoint, key, { parts, proof, register }),
      runOthers([file, checkpoint, key, parts, proof, ofRegister]),
    ]);
    expect(withoutWords(second)).toEqual(withoutWords(first));
    expect(third).toEqual(first);
    return first;
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** The second verifier's result for a count certificate. */
export async function verifyCertificate(
  certificate: Buffer,
  key: string,
): Promise<{ ok: boolean; count: object | null }> {
  return (await runOthers<{ count: { ok: boolean; count: object | null } }>([certificate, key])).count;
}

const withoutWords = ({
  reason,
  warnings,
  code: _,
  ...verdict
}: Omit<Verdict, 'code'> & { code?: unknown }) => ({
  ...verdict,
  reason: typeof reason,
  warnings: warnings.map(({ position }) => position),
});

type Others = { second: Omit<Verdict, 'code'>; third: Verdict };

/** A thread, because Jest imports modules differently from Node.js, and a process for each case would be slow. */
const OTHERS = `
  const { createReadStream } = require('node:fs');
  const { parentPort } = require('node:worker_threads');
  const module = import(${JSON.stringify(pathToFileURL(resolve(__dirname, 'verifier.mjs')).href)});
  // Not while the other import runs, which needs what browsers lack.
  const browsers = module.then(() => asInBrowser(() => import(${JSON.stringify(pathToFileURL(resolve(__dirname, '../dist/advocacy-verify.mjs')).href)})));
  /** Browsers have no process, so the file finds no modules of Node.js. */
  async function asInBrowser(load) {
    const { getBuiltinModule } = process;
    process.getBuiltinModule = undefined;
    return load().finally(() => (process.getBuiltinModule = getBuiltinModule));
  }
  /** Opens the file only if it is read: a rejected checkpoint ends the test, which deletes the file. */
  async function* chunksOf(name) {
    yield* createReadStream(name);
  }
  parentPort.on('message', async ([number, given]) => {
    if (given.length === 2) {
      const { verifyCertificate } = await module;
      parentPort.postMessage([number, { count: verifyCertificate(Buffer.from(given[0]), given[1]) }]);
      return;
    }
    const [file, checkpoint, key, parts, proof, register] = given;
    const second = await module.then(({ verifyHistory }) => verifyHistory(...given));
    const third = await browsers.then(({ successionsOfExport, verifyExport }) =>
      verifyExport(chunksOf(file), checkpoint, key, {
        parts, proof, successions: () => successionsOfExport(chunksOf(file)),
        register: register && { ...register, chunks: () => chunksOf(register.file) },
      }));
    parentPort.postMessage([number, { second, third }]);
  });`;

let others: Worker | undefined;
let asked = 0;

function runOthers<Answer = Others>(given: readonly unknown[]): Promise<Answer> {
  // When idle, the thread does not keep the process alive.
  others ??= new Worker(OTHERS, { eval: true }).setMaxListeners(Infinity);
  const worker = others;
  const number = (asked += 1);
  worker.ref();
  return new Promise<Answer>((resolve, reject) => {
    const fail = (error: Error) => {
      // A thread that failed never answers again.
      if (others === worker) others = undefined;
      reject(error);
    };
    const answer = ([answered, verdicts]: [number, Answer]) => {
      if (answered !== number) return;
      worker.off('message', answer).off('error', fail).unref();
      resolve(verdicts);
    };
    worker.on('message', answer).once('error', fail).postMessage([number, given]);
  });
}
