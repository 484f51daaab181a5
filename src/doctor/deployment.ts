import { type Config } from '../config.js';
import { type Finding } from './finding.js';
import { type ReadOnlyDatabase } from './read-only-database.js';

/** All that a check may look at. */
export type Deployment = {
  config: Config;
  /** Variables that are set and that only deployments need. */
  ofDeployments: readonly string[];
  /** Whether a variable is wrong, so that its value means nothing. */
  isWrong: (variable: string) => boolean;
  /** undefined: the embedded one, or none. */
  database: ReadOnlyDatabase | undefined;
  /** The master key of the embedded database is a file; undefined where there is none, or it is wrong. */
  encryptionKey: Buffer | undefined;
};

export type DeploymentWithDatabase = Deployment & { database: ReadOnlyDatabase };

/** A check that needs nothing but what was configured. */
export type Check = { name: string; examine: (deployment: Deployment) => Finding[] | Promise<Finding[]> };

/** A check that is left out where there is no database to ask. */
export type DatabaseCheck = {
  name: string;
  examine: (deployment: DeploymentWithDatabase) => Promise<Finding[]>;
};
