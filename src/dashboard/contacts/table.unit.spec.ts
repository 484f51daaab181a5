import { setImmediate as nextTurn } from 'node:timers/promises';
import { ImportableTable, lookAt } from './table.js';

const LINES = 20_000;
const table = ['email,Ort', ...Array.from({ length: LINES }, (_, n) => `p${n}@example.org,Bern`)].join(
  '\r\n',
);

/** How often others had a turn meanwhile. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isGoing = true;
  const ended = work.finally(() => (isGoing = false));
  while (isGoing) {
    await nextTurn();
    turns += 1;
  }
  await ended;
  return turns;
}

async function handedOver(): Promise<number> {
  let bytes = 0;
  for await (const chunk of new ImportableTable(table, ['email', 'city']).bytes()) bytes += chunk.length;
  return bytes;
}

describe('a long table leaves turns to everybody else', () => {
  it.each([
    ['when it is looked at', () => lookAt(Buffer.from(table))],
    ['when it is handed over', handedOver],
    ['when it cannot be read', () => lookAt(Buffer.from(`${table}\n"`)).catch(() => undefined)],
  ])('%s', async (_, work) => {
    expect(await turnsDuring(work())).toBeGreaterThan(30);
  });
});
