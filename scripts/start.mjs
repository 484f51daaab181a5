/** npm start: prepares the checkout, then is the server. No process stands between it and npm's signals. */
import { prepare } from './prepare.mjs';

if (process.env.npm_lifecycle_event) endWithNpm();
await prepare();
await import('../dist/bundle/main.js');

/** A killed npm (kill -9) passes no signal on; the server would go on, unseen, and hold its port. */
function endWithNpm() {
  const npm = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 1000);
  watch.unref();
}
