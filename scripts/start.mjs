/** npm start: prepares the checkout, then becomes the server, so that it receives npm's signals directly. */
import { prepare } from './prepare.mjs';

if (process.env.npm_lifecycle_event) endWithNpm();
await prepare();
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
