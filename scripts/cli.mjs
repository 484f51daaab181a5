/** npm run cli: prepares the checkout, then is the command line. */
import { prepare } from './prepare.mjs';

await prepare();
await import('../dist/bundle/cli.js');
