import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import { loadEnvironment, readConcurrency } from './environment/index.js';

// Stack traces of a bundle name our sources. This costs 40 ms at the start and 4 MB.
process.setSourceMapsEnabled(true);

// `readConfig` reports a wrong number.
const processes = readConcurrency(loadEnvironment().WEB_CONCURRENCY) ?? 1;
// The primary process needs Node.js only, so it loads nothing of the server.
if (processes > 1 && cluster.isPrimary) {
  const { lead } = await import('./server/primary.js');
  lead(processes, fileURLToPath(import.meta.url));
} else {
  const { serve } = await import('./server/serve.js');
  await serve();
}
