import { parentPort } from 'node:worker_threads';
import { checkLines } from '#libs/verify';
import { type Lines } from './check-threads.js';
import { checkStored } from './stored-events.js';

/** The code that each thread of `CheckThreads` runs. */
parentPort!.on('message', (given: Lines | string[]) => {
  const checked = Array.isArray(given) ? checkStored(given) : checkLines(given.lines, given.organizationId);
  const columns = Object.values(checked).filter((column) => ArrayBuffer.isView(column));
  parentPort!.postMessage(
    checked,
    columns.map(({ buffer }) => buffer as ArrayBuffer),
  );
});
