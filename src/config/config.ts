import { isIP } from 'node:net';
import { MAIL_URL_FORMS, type MailAddress, readMailAddress, readMailUrl, WrongMailUrl } from '#libs/mail';
import { LOG_LEVELS, type LogLevel } from '#libs/operations';
import { readRedisUrl, REDIS_URL_FORMS } from '#libs/rate-limit';
import { ORIGIN, ORIGIN_RULE } from '#libs/rpc';
import { type BucketLocation } from '#libs/storage';
import { NotAuthentic } from '#libs/verify';
import { readWitness, type WitnessAddress } from '../audit/index.js';
import { readConcurrency } from '../environment/index.js';
import { endpointOfS3, type Environment, loadEnvironment } from '../environment/index.js';

/** All settings. `.env.example` and `scripts/rare.env` explain each variable. */
export type Config = {
  host: string | undefined;
  port: number;
  /** Processes that serve on this port. */
  processes: number;
  publicUrl: string | undefined;
  /** undefined: the embedded PostgreSQL in `dataDirectory`. */
  databaseUrl: string | undefined;
  databasePoolSize: number;
  /** A streaming replica for reads; undefined: none. */
  databaseReplicaUrl: string | undefined;
  redisUrl: string | undefined;
  /** Requests per second of all API keys of an organization together. Keys created on the command line are exempt. */
  organizationRateLimit: number;
  dataDirectory: string;
  /** Where image files are stored; undefined: in `dataDirectory`. */
  storage: BucketLocation | undefined;
  /** The mail server, with its password; undefined: messages are written to files in `dataDirectory`. */
  mailUrl: string | undefined;
  /** The sender for organizations without their own. */
  mailFrom: MailAddress | undefined;
  /** Messages in flight per process, each on its own connection. */
  mailConcurrency: number;
  /** Messages per second over all instances; undefined: no limit. */
  mailRate: number | undefined;
  /** Days after which the recipients of a finished broadcast are deleted. Its totals stay. 0: never. */
  broadcastRecipientDays: number;
  /** 32 bytes; undefined: the embedded mode creates its own. */
  encryptionKey: Buffer | undefined;
  /** 32 bytes: the previous key, until `keys rewrap` has rewrapped everything. */
  previousEncryptionKey: Buffer | undefined;
  /** 32 bytes that sign checkpoints; undefined: derived from the encryption key. */
  signingKey: Buffer | undefined;
  /** Keys that also sign, until auditors have the new public key. `derived`: the one derived from the encryption key. */
  previousSigningKeys: (Buffer | 'derived')[];
  /** Hours after an erasure within which files with plain personal data are rewritten; 0: only by hand. */
  erasurePurgeHours: number;
  /** Seconds within which each history and each projection is checked once for changes; 0: never. */
  verifyEvery: number;
  /** Witnesses that cosign each checkpoint. */
  witnesses: WitnessAddress[];
  /** Minimum seconds between two requests to witnesses about the same organization. */
  witnessEvery: number;
  trustProxy: boolean | number | string;
  /** Websites that may call the whole API from browsers. Publishable keys have their own list. */
  corsOrigins: string[];
  /** Token that shows the projections in `/health/ready`; undefined: no one sees them. */
  healthToken: string | undefined;
  /** Seconds after SIGTERM during which requests are still served, so that load balancers notice in time. */
  shutdownDelay: number;
  /** Port of the first process; the others use the ports after it. undefined: no metrics. */
  metricsPort: number | undefined;
  logLevel: LogLevel;
  /** Whether webhooks may use http, and reach this machine and private networks. For development. */
  webhookAllowPrivate: boolean;
  /** Whether the public site is served, and whether its forms require a proof of work. */
  site: boolean;
  captcha: boolean;
  /** Whether programming errors fail loudly instead of being tolerated. True in tests and development. */
  isTried: boolean;
};

/** One sentence per missing or invalid variable. No sentence contains a value, which could be a secret. */
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
  /** Each sentence starts with the name of its variable. The value in `config` is then meaningless. */
  wrong: string[];
  /** Variables that are set and that only deployments need. */
  ofDeployments: string[];
};

/** Like {@link readConfig}, but returns valid settings together with the errors. */
export function inspectConfig(environment: Environment): Inspected {
  const wrong: string[] = [];
  // An empty variable counts as not set, as in `PORT= npm start`.
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
        `${name} must be a URL that starts with ${starts.join(' or ')}. ` +
          'Percent-encode special characters in a password.',
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
    corsOrigins: corsOrigins(get('CORS_ORIGINS'), wrong),
    healthToken: healthToken(get('HEALTH_TOKEN'), wrong),
    // Load balancers are not used with embedded databases.
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

function corsOrigins(text: string | undefined, wrong: string[]): string[] {
  const origins = text?.split(',').map((one) => one.trim()) ?? [];
  if (!origins.every((one) => ORIGIN.test(one))) {
    wrong.push(`CORS_ORIGINS must be a comma-separated list of origins. Each ${ORIGIN_RULE}.`);
  }
  return origins;
}

function captcha(text: string | undefined, wrong: string[]): boolean {
  if (text !== undefined && text !== 'altcha') wrong.push('CAPTCHA must be altcha, or not set.');
  return text !== undefined;
}

function concurrency(text: string | undefined, wrong: string[]): number {
  const processes = readConcurrency(text);
  if (processes === undefined) {
    wrong.push('WEB_CONCURRENCY must be a whole number from 1 to 64, or auto for one process per core.');
  }
  return processes ?? 1;
}

/** Without Redis, each process counts requests by itself, so limits would silently be several times too high. */
function requireForMany({ processes, redisUrl, port, metricsPort }: Config, wrong: string[]): void {
  if (processes === 1) return;
  if (redisUrl === undefined) {
    wrong.push(
      'WEB_CONCURRENCY above 1 requires REDIS_URL. Without it, each process counts requests by itself, and rate limits are ' +
        'multiplied by the number of processes. Set REDIS_URL, or remove WEB_CONCURRENCY.',
    );
  }
  if (!metricsPort) return;
  const last = metricsPort + processes - 1;
  if (last > 65_535 || (port >= metricsPort && port <= last)) {
    wrong.push(
      `METRICS_PORT is the first of ${processes} ports, one per process. All must be below 65536 and differ from PORT.`,
    );
  }
}

const HOW_TO_MAKE_A_KEY = 'Generate one with: openssl rand -base64 32';

function encryptionKey(text: string | undefined, required: boolean, wrong: string[]): Buffer | undefined {
  if (text === undefined) {
    if (required) {
      wrong.push(
        `ENCRYPTION_KEY is missing. It is required with DATABASE_URL: 32 bytes in base64. ${HOW_TO_MAKE_A_KEY}`,
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
    'SIGNING_KEY_PREVIOUS must be keys in the format of SIGNING_KEY, separated by commas. "derived" stands for the key that ' +
      'was used before SIGNING_KEY was set.',
  );
  return [];
}

function witnesses(text: string | undefined, wrong: string[]): WitnessAddress[] {
  if (text === undefined) return [];
  const refuse = (mistake: string) => {
    wrong.push(
      'WITNESS_URLS must be a comma-separated list of <verifier key>@<address>. The verifier key is what the witness prints as ' +
        'verifierKey. The address is that of its add-checkpoint endpoint, without /add-checkpoint, such as ' +
        `w.example.org/1+…@https://w.example.org. ${mistake}`,
    );
    return [];
  };
  const read: WitnessAddress[] = [];
  for (const [n, one] of text.split(',').entries()) {
    try {
      read.push(readWitness(one.trim()));
    } catch (error) {
      if (!(error instanceof NotAuthentic)) throw error;
      return refuse(`Witness ${n + 1}: ${error.message}`);
    }
  }
  const keys = new Set(read.map(({ verifierKey }) => verifierKey));
  return keys.size === read.length ? read : refuse('One witness is listed twice.');
}

function redisUrl(text: string | undefined, wrong: string[]): string | undefined {
  if (text !== undefined && !readRedisUrl(text)) {
    wrong.push(
      `REDIS_URL must be one of: ${REDIS_URL_FORMS}. Percent-encode special characters in a password.`,
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
      'STORAGE_URL must be s3://<bucket> or s3://<bucket>/<prefix>. Region and credentials come from AWS_REGION, ' +
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. For a store other than Amazon's, set AWS_ENDPOINT_URL_S3.",
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
      'MAIL_FROM must be an address, or a name and an address, such as Clean Rivers <office@rivers.example.org>. The part ' +
        'before the @ must be ASCII.',
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

/** Also checks that its parts can be decoded. A single % in a password cannot. */
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

/**
 * Reads the format of Express: true, false, a number of hops, or addresses, networks and names of networks.
 */
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
      `TRUST_PROXY must be true, false, a number of hops, or a comma-separated list of addresses and networks, ` +
        `such as 10.0.0.0/8 or ${NETWORK_NAMES.join(', ')}.`,
    );
  }
  return text;
}
