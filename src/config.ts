import { isIP } from 'node:net';
import { MAIL_URL_FORMS, type MailAddress, readMailAddress, readMailUrl, WrongMailUrl } from '#libs/mail';
import { LOG_LEVELS, type LogLevel } from '#libs/operations';
import { readRedisUrl, REDIS_URL_FORMS } from '#libs/rate-limit';
import { type BucketLocation } from '#libs/storage';
import { readWitness, type WitnessAddress } from './cosigning/index.js';
import { readConcurrency } from './concurrency.js';
import { endpointOfS3, type Environment, loadEnvironment } from './environment.js';
import { NotAuthentic } from './history/verify/index.js';

/** Everything that can be set from outside; `.env.example` explains each. */
export type Config = {
  host: string | undefined;
  port: number;
  /** That serve on this port. */
  processes: number;
  publicUrl: string | undefined;
  /** undefined: the embedded PostgreSQL under `dataDirectory`. */
  databaseUrl: string | undefined;
  databasePoolSize: number;
  /** A streaming replica for reads; undefined: there is none. */
  databaseReplicaUrl: string | undefined;
  redisUrl: string | undefined;
  /** Requests per second of all API keys of an organization that were not made on the command line. */
  organizationRateLimit: number;
  dataDirectory: string;
  /** Where the files of images are; undefined: under `dataDirectory`. */
  storage: BucketLocation | undefined;
  /** Of the mail server, with its password; undefined: messages are written to files under `dataDirectory`. */
  mailUrl: string | undefined;
  /** Who sends where an organization says nothing else. */
  mailFrom: MailAddress | undefined;
  /** Messages that one process has under way at once, each on a connection. */
  mailConcurrency: number;
  /** Messages a second over all instances; undefined: as many as there can be. */
  mailRate: number | undefined;
  /** After so many days, the recipients of a broadcast that is over are deleted; its figures stay. 0: never. */
  broadcastRecipientDays: number;
  /** 32 bytes; undefined: the embedded mode makes its own. */
  encryptionKey: Buffer | undefined;
  /** 32 bytes: the one before it, until `keys rewrap` has wrapped all with the new one. */
  previousEncryptionKey: Buffer | undefined;
  /** 32 bytes that checkpoints are signed with; undefined: they follow from the encryption key. */
  signingKey: Buffer | undefined;
  /** Keys that sign beside it, until auditors have its public part; `derived`: the one that follows from the encryption key. */
  previousSigningKeys: (Buffer | 'derived')[];
  /** After an erasure, files that hold persons in plain are written anew within so many hours; 0: by hand only. */
  erasurePurgeHours: number;
  /** Seconds within which each history and each read model is looked at once, whether somebody has changed it; 0: never. */
  verifyEvery: number;
  /** Who is asked to cosign each checkpoint; nobody where it is empty. */
  witnesses: WitnessAddress[];
  /** Seconds within which witnesses are asked about an organization once at most. */
  witnessEvery: number;
  trustProxy: boolean | number | string;
  /** Lets an operator see the read models in `/health/ready`; undefined: nobody. */
  healthToken: string | undefined;
  /** Seconds for which everything is served on after SIGTERM, so that load balancers can notice. */
  shutdownDelay: number;
  /** Of the first process; those of the others follow it. undefined: no metrics are served. */
  metricsPort: number | undefined;
  logLevel: LogLevel;
  /** Webhooks may go to this machine and its networks, and by http: for development. */
  webhookAllowPrivate: boolean;
  /** Whether the public site is served, and whether its forms ask for a proof of work. */
  site: boolean;
  captcha: boolean;
  /** In tests and development: mistakes of the program are to show, rather than to harm nobody. */
  isTried: boolean;
};

/** One sentence per variable that is missing or wrong; none of them holds a value that could be a secret. */
export class ConfigError extends Error {
  constructor(readonly sentences: string[]) {
    super(sentences.join('\n'));
  }
}

export function loadConfig(): Config {
  return readConfig(loadEnvironment());
}

/** @throws ConfigError */
export function readConfig(environment: Environment): Config {
  const { config, wrong } = inspectConfig(environment);
  if (wrong.length > 0) throw new ConfigError(wrong);
  return config;
}

export type Inspected = {
  config: Config;
  /** Each sentence begins with the name of its variable, whose value in `config` then means nothing. */
  wrong: string[];
  /** Variables that are set and that somebody who tries the program out at home needs not. */
  ofDeployments: string[];
};

/** As {@link readConfig}, for whoever wants to see what can be read beside what is wrong. */
export function inspectConfig(environment: Environment): Inspected {
  const wrong: string[] = [];
  // A variable that is set to nothing counts as not set, as in `PORT= npm start`.
  const get = (name: string) => {
    const text = environment[name]?.trim();
    return text === '' ? undefined : text;
  };

  const integer = (name: string, preset: number, min: number, max: number) => {
    const text = get(name);
    if (text === undefined) return preset;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) wrong.push(`${name} must be a whole number from ${min} to ${max}.`);
    return value;
  };
  const flag = (name: string) => {
    const text = get(name) ?? 'false';
    if (!['true', 'false'].includes(text)) wrong.push(`${name} must be true or false.`);
    return text === 'true';
  };
  const url = (name: string, ...starts: string[]) => {
    const text = get(name);
    if (text !== undefined && !(starts.some((start) => text.startsWith(start)) && isUrl(text))) {
      wrong.push(
        `${name} must be a URL that starts with ${starts.join(' or ')}, ` +
          'special characters in a password percent-encoded.',
      );
    }
    return text;
  };

  const databaseUrl = url('DATABASE_URL', 'postgres://', 'postgresql://');
  const logLevel = get('LOG_LEVEL') ?? 'info';
  if (!(LOG_LEVELS as readonly string[]).includes(logLevel)) {
    wrong.push(`LOG_LEVEL must be one of: ${LOG_LEVELS.join(', ')}.`);
  }
  const config: Config = {
    host: get('HOST'),
    port: integer('PORT', 3000, 0, 65_535),
    processes: concurrency(get('WEB_CONCURRENCY'), wrong),
    publicUrl: url('PUBLIC_URL', 'http://', 'https://')?.replace(/\/+$/, ''),
    databaseUrl,
    databasePoolSize: integer('DATABASE_POOL_SIZE', 10, 3, 1_000),
    databaseReplicaUrl: url('DATABASE_REPLICA_URL', 'postgres://', 'postgresql://'),
    redisUrl: redisUrl(get('REDIS_URL'), wrong),
    organizationRateLimit: integer('ORGANIZATION_RATE_LIMIT', 100, 1, 1_000_000),
    dataDirectory: get('DATA_DIR') ?? './.data',
    storage: storage(get('STORAGE_URL'), wrong),
    mailUrl: mailUrl(get('MAIL_URL'), wrong),
    mailFrom: mailFrom(get('MAIL_FROM'), wrong),
    mailConcurrency: integer('MAIL_CONCURRENCY', 10, 1, 1_000),
    mailRate: get('MAIL_RATE') === undefined ? undefined : integer('MAIL_RATE', 0, 1, 1_000_000),
    broadcastRecipientDays: integer('BROADCAST_RECIPIENT_DAYS', 730, 0, 36_500),
    encryptionKey: encryptionKey(get('ENCRYPTION_KEY'), databaseUrl !== undefined, wrong),
    previousEncryptionKey: keyOf('ENCRYPTION_KEY_PREVIOUS', get('ENCRYPTION_KEY_PREVIOUS'), wrong),
    signingKey: keyOf('SIGNING_KEY', get('SIGNING_KEY'), wrong),
    previousSigningKeys: previousSigningKeys(get('SIGNING_KEY_PREVIOUS'), wrong),
    erasurePurgeHours: integer('ERASURE_PURGE_HOURS', 24, 0, 8_760),
    verifyEvery: integer('VERIFY_EVERY', 86_400, 0, 31_536_000),
    witnesses: witnesses(get('WITNESS_URLS'), wrong),
    witnessEvery: integer('WITNESS_EVERY', 60, 1, 86_400),
    trustProxy: trustProxy(get('TRUST_PROXY'), wrong),
    healthToken: healthToken(get('HEALTH_TOKEN'), wrong),
    // Nobody balances requests among embedded databases.
    shutdownDelay: integer('SHUTDOWN_DELAY', databaseUrl === undefined ? 0 : 5, 0, 3_600),
    metricsPort: get('METRICS_PORT') === undefined ? undefined : integer('METRICS_PORT', 0, 0, 65_535),
    logLevel: logLevel as LogLevel,
    webhookAllowPrivate: flag('WEBHOOK_ALLOW_PRIVATE'),
    site: site(get('SITE'), wrong),
    captcha: captcha(get('CAPTCHA'), wrong),
    isTried: ['test', 'development'].includes(get('NODE_ENV') ?? ''),
  };
  requireForMany(config, wrong);
  const ofDeployments = [
    ...[
      'REDIS_URL',
      'DATABASE_REPLICA_URL',
      'TRUST_PROXY',
      'ENCRYPTION_KEY',
      'KUBERNETES_SERVICE_HOST',
    ].filter(get),
    ...(get('PUBLIC_URL')?.startsWith('https://') ? ['PUBLIC_URL'] : []),
    ...(get('NODE_ENV') === 'production' ? ['NODE_ENV=production'] : []),
  ];
  return { config, wrong, ofDeployments };
}

function site(text: string | undefined, wrong: string[]): boolean {
  if (text !== undefined && !['on', 'off'].includes(text)) wrong.push('SITE must be on or off.');
  return text !== 'off';
}

function captcha(text: string | undefined, wrong: string[]): boolean {
  if (text !== undefined && text !== 'altcha') wrong.push('CAPTCHA must be altcha, or left out.');
  return text !== undefined;
}

function concurrency(text: string | undefined, wrong: string[]): number {
  const processes = readConcurrency(text);
  if (processes === undefined) {
    wrong.push('WEB_CONCURRENCY must be a whole number from 1 to 64, or auto: one process for each core.');
  }
  return processes ?? 1;
}

/** A limit that is many times what the key says would be noticed by nobody: better no start. */
function requireForMany({ processes, redisUrl, port, metricsPort }: Config, wrong: string[]): void {
  if (processes === 1) return;
  if (redisUrl === undefined) {
    wrong.push(
      'WEB_CONCURRENCY above 1 needs REDIS_URL: without it each process counts alone, and keys may do as many times what ' +
        'their limits say. Set REDIS_URL, or leave WEB_CONCURRENCY out.',
    );
  }
  if (!metricsPort) return;
  const last = metricsPort + processes - 1;
  if (last > 65_535 || (port >= metricsPort && port <= last)) {
    wrong.push(
      `METRICS_PORT is the first of ${processes} ports, one for each process: all must be below 65536, and none PORT.`,
    );
  }
}

const HOW_TO_MAKE_A_KEY = 'Make one with: openssl rand -base64 32';

function encryptionKey(text: string | undefined, required: boolean, wrong: string[]): Buffer | undefined {
  if (text === undefined) {
    if (required) {
      wrong.push(
        `ENCRYPTION_KEY is missing: with DATABASE_URL it must be given, as 32 bytes in base64. ${HOW_TO_MAKE_A_KEY}`,
      );
    }
    return undefined;
  }
  return keyOf('ENCRYPTION_KEY', text, wrong);
}

function keyOf(name: string, text: string | undefined, wrong: string[]): Buffer | undefined {
  if (text === undefined) return undefined;
  if (!isKeyText(text)) {
    wrong.push(`${name} must be 32 bytes in base64 (44 characters). ${HOW_TO_MAKE_A_KEY}`);
  }
  return Buffer.from(text, 'base64');
}

function isKeyText(text: string): boolean {
  const key = Buffer.from(text, 'base64');
  return key.length === 32 && key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
}

function previousSigningKeys(text: string | undefined, wrong: string[]): (Buffer | 'derived')[] {
  if (text === undefined) return [];
  const keys = text.split(',').map((one) => one.trim());
  const isKey = (one: string) => one === 'derived' || isKeyText(one);
  if (keys.every(isKey)) return keys.map((one) => (one === 'derived' ? one : Buffer.from(one, 'base64')));
  wrong.push(
    'SIGNING_KEY_PREVIOUS must be keys as SIGNING_KEY is one, separated by commas; "derived" stands for the one that was ' +
      'used while SIGNING_KEY was not set.',
  );
  return [];
}

function witnesses(text: string | undefined, wrong: string[]): WitnessAddress[] {
  if (text === undefined) return [];
  const refuse = (mistake: string) => {
    wrong.push(
      'WITNESS_URLS must be witnesses, separated by commas, each as <verifier key>@<address>: what it prints as verifierKey, and ' +
        `the address behind which it takes add-checkpoint, such as w.example.org/1+…@https://w.example.org. ${mistake}`,
    );
    return [];
  };
  const read: WitnessAddress[] = [];
  for (const [n, one] of text.split(',').entries()) {
    try {
      read.push(readWitness(one.trim()));
    } catch (error) {
      if (!(error instanceof NotAuthentic)) throw error;
      return refuse(`Number ${n + 1}: ${error.message}`);
    }
  }
  const keys = new Set(read.map(({ verifierKey }) => verifierKey));
  return keys.size === read.length ? read : refuse('One of them stands there twice.');
}

function redisUrl(text: string | undefined, wrong: string[]): string | undefined {
  if (text !== undefined && !readRedisUrl(text)) {
    wrong.push(
      `REDIS_URL must be one of: ${REDIS_URL_FORMS}; special characters in a password percent-encoded.`,
    );
  }
  return text;
}

function storage(text: string | undefined, wrong: string[]): BucketLocation | undefined {
  if (text === undefined) return undefined;
  const [, bucket = '', prefix = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?)\/*)?$/.exec(text) ?? [];
  if (bucket === '') {
    wrong.push(
      'STORAGE_URL must be s3://<bucket> or s3://<bucket>/<prefix>; region, credentials and the address of a store that is not ' +
        "Amazon's come from AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL_S3.",
    );
  }
  return { bucket, prefix, endpoint: endpointOfS3() };
}

function mailUrl(text: string | undefined, wrong: string[]): string | undefined {
  try {
    if (text !== undefined) readMailUrl(text);
  } catch (error) {
    if (!(error instanceof WrongMailUrl)) throw error;
    wrong.push(`MAIL_URL must be ${MAIL_URL_FORMS}. ${error.message}`);
  }
  return text;
}

function mailFrom(text: string | undefined, wrong: string[]): MailAddress | undefined {
  const address = text === undefined ? undefined : readMailAddress(text);
  if (text !== undefined && !address) {
    wrong.push(
      'MAIL_FROM must be an address, or a name and an address, such as Clean Rivers <office@rivers.example.org>; before the @ ' +
        'it has ASCII alone.',
    );
  }
  return address;
}

function healthToken(text: string | undefined, wrong: string[]): string | undefined {
  if (text !== undefined && !/^[\x21-\x7e]{16,255}$/.test(text)) {
    wrong.push(`HEALTH_TOKEN must be 16 to 255 visible ASCII characters. ${HOW_TO_MAKE_A_KEY}`);
  }
  return text;
}

/** Also that its parts can be decoded: a lone % in a password cannot. */
function isUrl(text: string): boolean {
  try {
    const { username, password, pathname } = new URL(text);
    decodeURIComponent(username + password + pathname);
    return true;
  } catch {
    return false;
  }
}

const NETWORK_NAMES = ['loopback', 'linklocal', 'uniquelocal'];

/** As Express reads it: true, false, a number of hops, or addresses, networks and names of networks. */
function trustProxy(text: string | undefined, wrong: string[]): boolean | number | string {
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  if (/^\d{1,3}$/.test(text)) return Number(text);
  const isNetwork = (part: string) => {
    const [address = '', bits = '0'] = part.split('/');
    const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!;
    return NETWORK_NAMES.includes(part) || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  };
  if (!text.split(',').every((part) => isNetwork(part.trim()))) {
    wrong.push(
      `TRUST_PROXY must be true, false, a number of hops, or addresses and networks separated by commas, ` +
        `such as 10.0.0.0/8 or ${NETWORK_NAMES.join(', ')}.`,
    );
  }
  return text;
}
