import { parentPort, workerData } from 'node:worker_threads';
import { checkLines } from './lines.js';

/** What each of `LineThreads` runs. */
const { organizationId } = workerData as { organizationId: string };
parentPort!.on('message', (lines: Uint8Array) => {
  const checked = checkLines(lines, organizationId);
  const columns = Object.values(checked).filter((column) => ArrayBuffer.isView(column));
  parentPort!.postMessage(
    checked,
    columns.map(({ buffer }) => buffer as ArrayBuffer),
  );
});
