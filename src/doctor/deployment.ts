import { type Config } from '../config/index.js';
import { type Findings } from './finding.js';
import { type ReadOnlyDatabase } from './read-only-database.js';

/** The input of a check. */
export type Deployment = {
  config: Config;
  /** Variables that are set and that only deployments need. */
  ofDeployments: readonly string[];
  /** Whether a variable is invalid, so that its value is meaningless. */
  isWrong: (variable: string) => boolean;
  /** undefined if no database could be opened. */
  database: ReadOnlyDatabase | undefined;
  /** The master key; the embedded mode reads it from a file. undefined if it is missing or invalid. */
  encryptionKey: Buffer | undefined;
};

export type DeploymentWithDatabase = Deployment & { database: ReadOnlyDatabase };

/** @returns what is in order, if there are no findings. */
export type Examine<Examined> = (
  deployment: Examined,
  found: Findings,
) => string | undefined | Promise<string | undefined>;

/** A check that only needs the configuration. */
export type Check = { name: string; examine: Examine<Deployment> };

/** A check that is skipped without a database. */
export type DatabaseCheck = { name: string; examine: Examine<DeploymentWithDatabase> };
