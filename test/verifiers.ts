import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type Verdict, verifyFile } from '../src/history/verify/index.js';

/** The verdict on an export of both verifiers, who must agree in everything but the words. */
export async function verifyTwice(
  exported: string | Buffer,
  checkpoint: string,
  key: string,
  parts?: string,
  proof?: string,
): Promise<Verdict> {
  const directory = await mkdtemp(join(tmpdir(), 'history-'));
  try {
    const file = join(directory, 'history.ndjson');
    await writeFile(file, exported);
    const [first, second] = await Promise.all([
      verifyFile(file, checkpoint, key, { parts, proof, threads: 0 }),
      runSecond([file, checkpoint, key, parts, proof]),
    ]);
    expect(withoutWords(second)).toEqual(withoutWords(first));
    return first;
  } finally {
    await rm(directory, { recursive: true });
  }
}

const withoutWords = ({ reason, warnings, ...verdict }: Verdict) => ({
  ...verdict,
  reason: typeof reason,
  warnings: warnings.map(({ position }) => position),
});

/** A thread, because Jest does not import modules as Node.js does, and a process for each case takes its time. */
const SECOND = `
  const { parentPort } = require('node:worker_threads');
  const module = import(${JSON.stringify(pathToFileURL(resolve(__dirname, 'verifier.mjs')).href)});
  parentPort.on('message', async ([number, given]) => {
    const verdict = await module.then(({ verifyHistory }) => verifyHistory(...given));
    parentPort.postMessage([number, verdict]);
  });`;

let second: Worker | undefined;
let asked = 0;

function runSecond(given: readonly unknown[]): Promise<Verdict> {
  // Idle, it keeps no process alive.
  second ??= new Worker(SECOND, { eval: true }).setMaxListeners(Infinity);
  const worker = second;
  const number = (asked += 1);
  worker.ref();
  return new Promise<Verdict>((resolve, reject) => {
    const answer = ([answered, verdict]: [number, Verdict]) => {
      if (answered !== number) return;
      worker.off('message', answer).off('error', reject).unref();
      resolve(verdict);
    };
    worker.on('message', answer).once('error', reject).postMessage([number, given]);
  });
}
