import cluster from 'node:cluster';
import { existsSync } from 'node:fs';

export type Environment = { [name: string]: string | undefined };

/** The directory that npm was called in. */
export function invokedFrom(): string {
  return process.env.INIT_CWD ?? process.cwd();
}

/** Libraries (OpenTelemetry, Amazon) read their own variables, which are too many to list here. */
export function environmentOfLibraries(): Environment {
  return process.env;
}

/** On Node.js 20, Amazon's client warns each time it is loaded. package.json pins a version that runs there. */
export function silenceAmazon(): void {
  environmentOfLibraries().AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
}

/** The address of an S3-compatible store other than Amazon's. Amazon's library reads the same variables. */
export function endpointOfS3(): string | undefined {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = environmentOfLibraries();
  // In containers, a variable may be set but empty.
  return [AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL].find((address) => address !== undefined && address !== '');
}

/** Reads `.env` in the working directory. Existing variables take precedence. */
export function loadEnvironment(): Environment {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return process.env;
}

/** Set only by `lead`, for each process that it starts. */
export const PROCESS_NUMBER = 'ADVOCACY_PROCESS';

/** The number of this process among those on one port, from 1. Undefined if it is the only one. */
export function processNumber(): number | undefined {
  const text = cluster.isWorker ? process.env[PROCESS_NUMBER] : undefined;
  return text === undefined ? undefined : Number(text);
}
