export { readConcurrency } from './concurrency.js';
export {
  loadEnvironment,
  endpointOfS3,
  silenceAmazon,
  invokedFrom,
  type Environment,
  PROCESS_NUMBER,
  environmentOfLibraries,
  processNumber,
} from './environment.js';
export { programVersion } from './version.js';
