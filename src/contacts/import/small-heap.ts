import v8 from 'node:v8';

const FLAG = '--heap-growing-percent';
/** V8 collects garbage when the heap has grown by this percentage. `npm start` sets 200, which is faster. */
const SMALL = 70;
/** 0: V8 decides. Node.js does not accept this setting in NODE_OPTIONS. */
const USUAL = Number(new RegExp(`${FLAG}[= ](\\d+)`).exec(process.execArgv.join(' '))?.[1] ?? 0);

let running = 0;

/**
 * Collects garbage earlier while any such work is in progress. An import creates 80 KB of short-lived objects per row, and
 * the heap would grow to three times what it needs.
 */
export async function withSmallHeap<Result>(work: () => Promise<Result>): Promise<Result> {
  if ((running += 1) === 1) grow(USUAL === 0 ? SMALL : Math.min(USUAL, SMALL));
  try {
    return await work();
  } finally {
    if ((running -= 1) === 0) grow(USUAL);
  }
}

function grow(percent: number): void {
  v8.setFlagsFromString(`${FLAG}=${percent}`);
}
