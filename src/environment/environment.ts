import cluster from 'node:cluster';
import { existsSync } from 'node:fs';

export type Environment = { [name: string]: string | undefined };

/** The directory that npm was called in. */
export function invokedFrom(): string {
  return process.env.INIT_CWD ?? process.cwd();
}

/** What libraries read themselves, OpenTelemetry's and Amazon's: their variables are their own, and many. */
export function environmentOfLibraries(): Environment {
  return process.env;
}

/** On Node 20 Amazon's client warns each time that it is loaded; package.json holds a version that runs there. */
export function silenceAmazon(): void {
  environmentOfLibraries().AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
}

/** Of a store that speaks S3 and is not Amazon's: Amazon's library reads the same. */
export function endpointOfS3(): string | undefined {
  const { AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = environmentOfLibraries();
  // In containers a variable may be set to nothing.
  return [AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL].find((address) => address !== undefined && address !== '');
}

/** Reads `.env` in the working directory; what the environment says already has precedence. */
export function loadEnvironment(): Environment {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return process.env;
}

/** Set by `lead` for each process that it starts, and by nobody else. */
export const PROCESS_NUMBER = 'ADVOCACY_PROCESS';

/** Which of several processes on one port this is, from 1; undefined where it is the only one. */
export function processNumber(): number | undefined {
  const text = cluster.isWorker ? process.env[PROCESS_NUMBER] : undefined;
  return text === undefined ? undefined : Number(text);
}
