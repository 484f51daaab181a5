import cluster from 'node:cluster';
import { readConcurrency } from './concurrency.js';
import { loadEnvironment } from './environment.js';

// A bundle runs: stack traces name the sources that it was made of. It costs 40 ms at the start, and 4 MB.
process.setSourceMapsEnabled(true);

// A wrong number is told by whoever reads the rest of the configuration, too.
const processes = readConcurrency(loadEnvironment().WEB_CONCURRENCY) ?? 1;
// Each loads what it needs: who only keeps others going needs no more than Node.js.
if (processes > 1 && cluster.isPrimary) (await import('./primary.js')).lead(processes);
else await import('./serve.js');
