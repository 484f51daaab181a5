export { inspectConfig, readConfig, loadConfig, type Config, type Inspected, ConfigError } from './config.js';
export { PublicAddress } from './public-address.js';
