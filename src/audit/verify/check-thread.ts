import { parentPort, workerData } from 'node:worker_threads';
import { type Work } from './check-threads.js';
import { checkLines } from './lines.js';
import { checkStored } from './stored-events.js';

/** The code that each thread of `CheckThreads` runs. */
const work = workerData as Work;
parentPort!.on('message', (given: Uint8Array | string[]) => {
  const checked =
    work.of === 'lines'
      ? checkLines(given as Uint8Array, work.organizationId)
      : checkStored(given as string[]);
  const columns = Object.values(checked).filter((column) => ArrayBuffer.isView(column));
  parentPort!.postMessage(
    checked,
    columns.map(({ buffer }) => buffer as ArrayBuffer),
  );
});
