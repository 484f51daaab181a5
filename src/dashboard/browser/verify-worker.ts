import type * as Verifier from '../../../libs/verify/index.js';

/** Message from the page. */
export type Task = { address: string; checkpoint: string; key: string };
/** Messages to the page: progress, and at the end the verdict, why there is none, or which field is invalid. */
export type Told =
  | { progress: number; of: number }
  | { verdict: Verifier.Verdict }
  | { problem: 'broken' | 'unable' }
  | { fault: 'key' | 'checkpoint' };

const scope = self as unknown as {
  onmessage: (event: MessageEvent<Task>) => void;
  postMessage: (message: Told) => void;
};

/** Minimum interval between progress messages. */
const EVERY_MS = 100;

/** `advocacy-verify`, the file that auditors can download. */
const FILE = './verifier.js';
const loading = import(FILE) as Promise<typeof Verifier>;

// Set before anything is awaited: a message that arrives earlier is lost.
scope.onmessage = ({ data }) => {
  void loading.then((verifier) => work(verifier, data)).then((message) => scope.postMessage(message));
};

async function work(verifier: typeof Verifier, { address, checkpoint, key }: Task): Promise<Told> {
  let reportedAt = 0;
  // Not verified yet, and only the length of the progress bar.
  const size = Number(checkpoint.split('\n', 2)[1]);
  const onProgress = (events: number) => {
    if (performance.now() - reportedAt < EVERY_MS) return;
    reportedAt = performance.now();
    scope.postMessage({ progress: events, of: size });
  };
  const fault = await faultOf(verifier, checkpoint, key);
  if (fault) return { fault };
  try {
    const successions = () => verifier.successionsOfExport(download(address));
    const options = { onProgress, successions };
    return { verdict: await verifier.verifyExport(download(address), checkpoint, key, options) };
  } catch (error) {
    return { problem: error instanceof verifier.Unable ? 'unable' : 'broken' };
  }
}

/**
 * Checks the typed values before the download. During verification, the same codes mean that the history itself contains an
 * invalid key.
 */
async function faultOf(
  { NotAuthentic, openCheckpoint }: typeof Verifier,
  checkpoint: string,
  key: string,
): Promise<'key' | 'checkpoint' | undefined> {
  try {
    await openCheckpoint(checkpoint, key);
  } catch (error) {
    if (!(error instanceof NotAuthentic)) return undefined;
    if (error.code === 'key') return 'key';
    if (error.code === 'note') return 'checkpoint';
  }
  return undefined;
}

/** Throws if the download fails or is interrupted. */
async function* download(address: string): AsyncGenerator<Uint8Array> {
  const answer = await fetch(address, { credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
  if (!answer.ok || !answer.body) throw new Error(`The download failed with status ${answer.status}.`);
  const reader = answer.body.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    void reader.cancel();
  }
}
