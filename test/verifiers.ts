import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Verdict, verifyFile } from '../src/history/verify/index.js';

const SECOND_VERIFIER = resolve(__dirname, 'verifier.mjs');

/** The verdict on an export of both verifiers, who must agree in everything but the words of the reason. */
export async function verifyTwice(
  exported: string | Buffer,
  checkpoint: string,
  key: string,
): Promise<Verdict> {
  const directory = await mkdtemp(join(tmpdir(), 'history-'));
  try {
    const files = { exported: join(directory, 'history.ndjson'), checkpoint: join(directory, 'checkpoint') };
    await writeFile(files.exported, exported);
    await writeFile(files.checkpoint, checkpoint);
    const [first, second] = await Promise.all([
      verifyFile(files.exported, checkpoint, key),
      runSecond([files.exported, '--checkpoint', files.checkpoint, '--key', key]),
    ]);
    expect({ ...second, reason: first.reason }).toEqual(first);
    return first;
  } finally {
    await rm(directory, { recursive: true });
  }
}

function runSecond(args: readonly string[]): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [SECOND_VERIFIER, ...args], (error, stdout, stderr) => {
      if (stdout === '') return reject(new Error(stderr, { cause: error }));
      const verdict = JSON.parse(stdout) as Verdict;
      expect(error?.code ?? 0).toBe(verdict.ok ? 0 : 1);
      resolve(verdict);
    });
  });
}
