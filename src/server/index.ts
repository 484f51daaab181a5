export { openRuntime, type Runtime } from './runtime.js';
export { BackgroundWorkers } from './workers.js';
export { createApplication, docsUrl } from './application.js';
export { AppModule } from './app.module.js';
export { signersOf } from './signing.js';
export { METRICS } from './metric-catalog.js';
