#!/usr/bin/env -S node --max-semi-space-size=16 --heap-growing-percent=200
/**
 * npm start: prepares the checkout, then becomes the server, so that it receives npm's signals directly. As the program of the
 * package (npx), it has nothing to prepare.
 */
import { existsSync } from 'node:fs';

if (process.env.npm_lifecycle_event) endWithNpm();
if (existsSync(new URL('prepare.mjs', import.meta.url))) {
  const { prepare } = await import('./prepare.mjs');
  await prepare();
}
await import('../dist/bundle/main.js');

/** If npm is killed (kill -9), it passes no signal on. The server would keep running unnoticed and hold its port. */
function endWithNpm() {
  const npm = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 1000);
  watch.unref();
}
