import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { ConfigError, readConfig } from './config.js';
import { WitnessKey } from '../audit/index.js';

const KEY = Buffer.alloc(32, 7);
const ENCRYPTION_KEY = KEY.toString('base64');
const OTHER_KEY = Buffer.alloc(32, 8).toString('base64');
const [WITNESS, OTHER_WITNESS] = ['w.example.org/1', 'v.example.org'].map(
  (name) => WitnessKey.make(name).verifierKey,
) as [string, string];

function sentences(environment: Record<string, string>): string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.sentences;
    throw error;
  }
  return [];
}

it('needs no variables: by default, everything runs embedded', () => {
  expect(readConfig({})).toEqual({
    host: undefined,
    port: 3000,
    processes: 1,
    publicUrl: undefined,
    databaseUrl: undefined,
    databasePoolSize: 10,
    redisUrl: undefined,
    organizationRateLimit: 100,
    dataDirectory: './.data',
    mailUrl: undefined,
    mailConcurrency: 10,
    broadcastRecipientDays: 730,
    encryptionKey: undefined,
    previousEncryptionKey: undefined,
    previousSigningKeys: [],
    erasurePurgeHours: 24,
    verifyEvery: 86_400,
    witnesses: [],
    witnessEvery: 60,
    trustProxy: false,
    corsOrigins: [],
    healthToken: undefined,
    shutdownDelay: 0,
    logLevel: 'info',
    webhookAllowPrivate: false,
    site: true,
    captcha: false,
    isTried: false,
  });
});

it('reads every variable', () => {
  expect(
    readConfig({
      HOST: '127.0.0.1',
      PORT: '8080',
      WEB_CONCURRENCY: '4',
      PUBLIC_URL: 'https://api.example.org/',
      DATABASE_URL: 'postgresql://u:p%40ss@db.example.org:5433/advocacy?sslmode=require',
      DATABASE_POOL_SIZE: '20',
      REDIS_URL: 'rediss://:secret@cache.example.org:6380',
      ORGANIZATION_RATE_LIMIT: '2500',
      DATA_DIR: '/var/lib/advocacy',
      MAIL_URL: 'smtps://us:p%40ss@mail.example.org',
      MAIL_FROM: 'Clean Rivers <office@rivers.example.org>',
      MAIL_CONCURRENCY: '20',
      MAIL_RATE: '14',
      BROADCAST_RECIPIENT_DAYS: '365',
      ENCRYPTION_KEY,
      ENCRYPTION_KEY_PREVIOUS: OTHER_KEY,
      SIGNING_KEY: OTHER_KEY,
      SIGNING_KEY_PREVIOUS: `${ENCRYPTION_KEY}, derived`,
      ERASURE_PURGE_HOURS: '48',
      VERIFY_EVERY: '3600',
      WITNESS_URLS: `${WITNESS}@https://w.example.org/1/, ${OTHER_WITNESS}@http://localhost:8080`,
      WITNESS_EVERY: '5',
      TRUST_PROXY: '2',
      CORS_ORIGINS: 'https://www.example.org, http://localhost:65535',
      HEALTH_TOKEN: 'a-token-of-the-operator',
      SHUTDOWN_DELAY: '15',
      METRICS_PORT: '9464',
      LOG_LEVEL: 'debug',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      SITE: 'off',
      CAPTCHA: 'altcha',
      NODE_ENV: 'development',
    }),
  ).toEqual({
    host: '127.0.0.1',
    port: 8080,
    processes: 4,
    publicUrl: 'https://api.example.org',
    databaseUrl: 'postgresql://u:p%40ss@db.example.org:5433/advocacy?sslmode=require',
    databasePoolSize: 20,
    redisUrl: 'rediss://:secret@cache.example.org:6380',
    organizationRateLimit: 2_500,
    dataDirectory: '/var/lib/advocacy',
    mailUrl: 'smtps://us:p%40ss@mail.example.org',
    mailFrom: { name: 'Clean Rivers', address: 'office@rivers.example.org' },
    mailConcurrency: 20,
    mailRate: 14,
    broadcastRecipientDays: 365,
    encryptionKey: KEY,
    previousEncryptionKey: Buffer.alloc(32, 8),
    signingKey: Buffer.alloc(32, 8),
    previousSigningKeys: [KEY, 'derived'],
    erasurePurgeHours: 48,
    verifyEvery: 3_600,
    witnesses: [
      { url: 'https://w.example.org/1', verifierKey: WITNESS },
      { url: 'http://localhost:8080', verifierKey: OTHER_WITNESS },
    ],
    witnessEvery: 5,
    trustProxy: 2,
    corsOrigins: ['https://www.example.org', 'http://localhost:65535'],
    healthToken: 'a-token-of-the-operator',
    shutdownDelay: 15,
    metricsPort: 9464,
    logLevel: 'debug',
    webhookAllowPrivate: true,
    site: false,
    captcha: true,
    isTried: true,
  });
});

it('treats empty and blank variables as not set', () => {
  const empty = { PORT: '', DATABASE_URL: ' ', ENCRYPTION_KEY: '', LOG_LEVEL: '\t', TRUST_PROXY: '' };
  expect(readConfig(empty)).toEqual(readConfig({}));
});

it.each([
  ['true', true],
  ['false', false],
  ['0', 0],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['loopback, fd00::/8, 192.0.2.1', 'loopback, fd00::/8, 192.0.2.1'],
])('TRUST_PROXY=%s', (text, expected) => {
  expect(readConfig({ TRUST_PROXY: text }).trustProxy).toBe(expected);
});

describe('WEB_CONCURRENCY', () => {
  const REDIS_URL = 'redis://localhost:6379';

  it('starts one process per core with auto', () => {
    const { processes } = readConfig({ WEB_CONCURRENCY: 'auto', REDIS_URL });
    expect(processes).toBe(Math.min(availableParallelism(), 64));
  });

  it('requires REDIS_URL and a free metrics port per process for several processes', () => {
    const several = { WEB_CONCURRENCY: '3', REDIS_URL };
    expect(sentences({ WEB_CONCURRENCY: '3' })).toEqual([expect.stringMatching(/requires REDIS_URL/)]);
    expect(sentences({ WEB_CONCURRENCY: '1' })).toEqual([]);
    expect(sentences({ ...several, METRICS_PORT: '3001' })).toEqual([]);
    expect(sentences({ ...several, METRICS_PORT: '0' })).toEqual([]);
    for (const METRICS_PORT of ['2998', '65534']) {
      expect(sentences({ ...several, METRICS_PORT })).toEqual([expect.stringMatching(/first of 3 ports/)]);
    }
  });
});

it('accepts keys with and without padding', () => {
  expect(readConfig({ ENCRYPTION_KEY: ENCRYPTION_KEY.replace('=', '') }).encryptionKey).toEqual(KEY);
});

it.each([
  ['PORT', 'abc'],
  ['PORT', '-1'],
  ['PORT', '65536'],
  ['PORT', '3e3'],
  ['METRICS_PORT', 'on'],
  ['WEB_CONCURRENCY', '0'],
  ['WEB_CONCURRENCY', '65'],
  ['WEB_CONCURRENCY', 'all'],
  ['ENCRYPTION_KEY_PREVIOUS', 'hunter2'],
  ['SIGNING_KEY_PREVIOUS', `${OTHER_KEY};${OTHER_KEY}`],
  ['SIGNING_KEY_PREVIOUS', 'hunter2'],
  ['DATABASE_POOL_SIZE', '2'],
  ['DATABASE_POOL_SIZE', '1.5'],
  ['DATABASE_URL', 'rubbish hunter2'],
  ['DATABASE_REPLICA_URL', 'mysql://u:hunter2@localhost/x'],
  ['DATABASE_URL', 'mysql://u:hunter2@localhost/x'],
  ['DATABASE_URL', 'postgres:u:hunter2'],
  ['DATABASE_URL', 'postgres://u:hunter2%zz@localhost/x'],
  ['DATABASE_URL', 'postgres://u:hunter2/@localhost/x'],
  ['REDIS_URL', 'http://u:hunter2@localhost'],
  ['REDIS_URL', 'localhost:6379'],
  ['REDIS_URL', 'redis://:hunter2@a,b/1'],
  ['REDIS_URL', 'redis+sentinel://:hunter2@a:26379'],
  ['PUBLIC_URL', 'api.example.org'],
  ['PUBLIC_URL', 'https:api.example.org'],
  ['ENCRYPTION_KEY', Buffer.alloc(31, 7).toString('base64')],
  ['ENCRYPTION_KEY', Buffer.alloc(33, 7).toString('base64')],
  ['ENCRYPTION_KEY', KEY.toString('hex')],
  ['ENCRYPTION_KEY', `!!!${ENCRYPTION_KEY}`],
  ['MAIL_URL', 'mail.example.org'],
  ['MAIL_URL', 'smtp://us:hunter2@'],
  ['MAIL_URL', 'smtp://us:hunt/er2@mail.example.org'],
  ['MAIL_URL', 'smtp://hunter2@mail.example.org'],
  ['MAIL_URL', 'smtp://mail.example.org?hunter2=1'],
  ['MAIL_FROM', 'hunter2'],
  ['MAIL_FROM', 'office@rivers.example.org, eve@example.org'],
  ['MAIL_CONCURRENCY', '-1'],
  ['BROADCAST_RECIPIENT_DAYS', 'for ever'],
  ['MAIL_RATE', '-1'],
  ['MAIL_RATE', '1.5'],
  ['ORGANIZATION_RATE_LIMIT', '-1'],
  ['ORGANIZATION_RATE_LIMIT', 'unlimited'],
  ['WITNESS_URLS', 'https://hunter2.example.org'],
  ['WITNESS_URLS', `${WITNESS}@https://w.example.org,`],
  ['WITNESS_URLS', `${WITNESS}@https://user:hunter2@w.example.org`],
  ['WITNESS_URLS', `${WITNESS}@https://w.example.org,${WITNESS}@https://v.example.org`],
  ['WITNESS_URLS', `PRIVATE+KEY+${WITNESS}@https://w.example.org`],
  ['WITNESS_EVERY', '-1'],
  ['LOG_LEVEL', 'loud'],
  ['WEBHOOK_ALLOW_PRIVATE', 'yes'],
  ['SITE', 'false'],
  ['CAPTCHA', 'recaptcha'],
  ['TRUST_PROXY', 'rubbish'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['TRUST_PROXY', 'yes'],
  ['CORS_ORIGINS', '*'],
  ['CORS_ORIGINS', 'https://Example.org'],
  ['CORS_ORIGINS', 'http://example.org'],
  ['CORS_ORIGINS', 'https://example.org/'],
  ['CORS_ORIGINS', 'https://example.org:65536'],
  ['HEALTH_TOKEN', 'hunter2'],
  ['HEALTH_TOKEN', 'hunter2 with blanks between'],
])('reports %s=%s in one sentence without the value', (name, value) => {
  const found = sentences({ ENCRYPTION_KEY, [name]: value });
  expect(found).toEqual([
    expect.stringMatching(new RegExp(`^${name} must be .+\\.$|^${name} must be .+ 32$`)),
  ]);
  expect(found[0]).not.toContain(value);
  expect(found[0]).not.toContain('hunter2');
});

it('reports each invalid variable in one sentence', () => {
  const wrong = { DATABASE_URL: 'postgres://localhost/x', PORT: 'abc', REDIS_URL: 'x', LOG_LEVEL: 'loud' };
  const names = sentences(wrong).map((sentence) => sentence.split(' ')[0]);
  expect(names.sort()).toEqual(['ENCRYPTION_KEY', 'LOG_LEVEL', 'PORT', 'REDIS_URL']);
  expect(() => readConfig(wrong)).toThrow('openssl rand -base64 32');
});

/** Set by the environment, not by the operator. */
const SURROUNDINGS = ['KUBERNETES_SERVICE_HOST', 'NODE_ENV'];

it('reads exactly the variables in .env.example and scripts/rare.env', () => {
  const read = new Set<string>();
  readConfig(
    new Proxy(
      {},
      {
        get(_, name) {
          read.add(String(name));
          return undefined;
        },
      },
    ),
  );
  const explained = ['.env.example', 'scripts/rare.env'].map((file) => readFileSync(file, 'utf8')).join('\n');
  const names = [...explained.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name]) => name);
  expect([...read].sort()).toEqual([...names, ...SURROUNDINGS].sort());
});
