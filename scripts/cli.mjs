/** npm run cli: prepares the checkout, and then runs the command line in this process. */
import { prepare } from './prepare.mjs';

await prepare();
await import('../dist/bundle/cli.js');
