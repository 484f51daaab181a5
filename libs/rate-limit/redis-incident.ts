import { Cluster, type Redis } from 'ioredis';

/** One server (or the master that sentinels name), or a cluster of them. */
export type RedisConnection = Redis | Cluster;

/** Why Redis cannot be used, as a clause, and the fix, as sentences. */
export type RedisIncident = { what: string; advice: string };

const PASSWORD =
  'Set the password in REDIS_URL (redis://:password@…, percent-encoded), or for sentinels ?sentinelPassword=….';

/** The first entry that matches the error of Redis, ioredis or the operating system. */
const INCIDENTS: readonly ({ words: RegExp } & RedisIncident)[] = [
  { words: /NOAUTH/, what: 'it requires a password', advice: PASSWORD },
  { words: /WRONGPASS|invalid password/, what: 'it rejects the user or the password', advice: PASSWORD },
  {
    words: /NOPERM/,
    what: 'its user lacks the rights to count',
    advice: 'Grant the user scripts and keys: ACL SETUSER … ~rate-limit:* +@all -@dangerous +info.',
  },
  {
    words: /No such master/,
    what: 'its sentinels know no master with this name',
    advice: 'Correct the name at the end of REDIS_URL. SENTINEL MASTERS on a sentinel lists all names.',
  },
  {
    words: /unknown command '?sentinel/i,
    what: 'the sentinels in REDIS_URL are not sentinels',
    advice:
      'Set REDIS_URL to the sentinels, which usually listen on 26379, or to the server itself as redis://….',
  },
  {
    words: /unknown command '?eval/i,
    what: 'it does not run scripts, because REDIS_URL leads to a sentinel or is not Redis',
    advice: 'Set REDIS_URL to the server itself, or to redis+sentinel://host:26379/name-of-the-master.',
  },
  {
    words: /CLUSTERDOWN/,
    what: 'some slots of its cluster have no master',
    advice: 'Run CLUSTER INFO and CLUSTER NODES on a node. Start the missing masters, or assign their slots.',
  },
  {
    words: /^LOADING/,
    what: 'it is still loading its data',
    advice: 'Wait. INFO persistence shows its progress.',
  },
  {
    words: /max number of clients/,
    what: 'it accepts no more connections',
    advice: 'Raise its maxclients, or find out with CLIENT LIST which clients use them.',
  },
  {
    words: /READONLY/,
    what: 'it is a replica, which cannot count',
    advice: 'Set REDIS_URL to the primary, to sentinels, or to a name that follows the primary.',
  },
  {
    words: /^OOM/,
    what: 'its memory is full',
    advice: 'Raise maxmemory, or find out which other programs write to it.',
  },
  {
    words: /ENOTFOUND|EAI_AGAIN/,
    what: 'its host name cannot be resolved',
    advice: 'Correct the name in REDIS_URL, or fix DNS.',
  },
  {
    words: /certificate|TLS|SSL|EPROTO|wrong version number/i,
    what: 'the TLS handshake failed',
    advice:
      'If it uses TLS, set rediss:// and a certificate that Node.js trusts (NODE_EXTRA_CA_CERTS). Otherwise, set redis://.',
  },
  {
    words: /ECONNREFUSED|Connection is closed/,
    what: 'nothing accepts connections at the address in REDIS_URL',
    advice: 'Start it, or correct the hosts and ports in REDIS_URL.',
  },
  {
    words: /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timeout|no response/i,
    what: 'it does not respond',
    advice:
      'Check whether its process hangs or a firewall blocks the connection. If it uses TLS, set rediss://.',
  },
];

const OTHERWISE: RedisIncident = {
  what: 'there is no connection to it',
  advice: 'Start it, or correct the hosts, ports and password in REDIS_URL.',
};
const NO_NODES: RedisIncident = {
  what: 'no node of its cluster reports a master',
  advice:
    'Start its nodes, or correct the hosts and ports in REDIS_URL. CLUSTER INFO shows whether slots are assigned.',
};

const failures = new WeakMap<RedisConnection, Error>();

/** Records why the connection fails, because the errors of commands do not contain it. */
export function rememberFailures(redis: RedisConnection): void {
  const keep = (error: Error) => failures.set(redis, lastOf(error));
  // This event has the reason. The error after a round of sentinels reports only that it failed.
  redis.on('sentinelError', keep);
  redis.on('error', (error: Error) => error.message.startsWith('All sentinels') || keep(error));
  redis.on('ready', () => failures.delete(redis));
}

/** For an unreachable cluster, the error of its last node. */
export function lastOf(error: Error): Error {
  return 'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError : error;
}

/**
 * Why a command failed. `said` is the message of Redis or the system, undefined if the message is only about ioredis options.
 *
 * @param error of the command.
 */
export function redisIncidentOf(redis: RedisConnection, error: Error): RedisIncident & { said?: string } {
  const isOwn = /enableOfflineQueue|maxRetriesPerRequest/.test(error.message);
  const cause = isOwn ? failures.get(redis) : error;
  if (!cause) return redis instanceof Cluster ? NO_NODES : OTHERWISE;
  const message = messageOf(cause);
  const { what, advice } = INCIDENTS.find(({ words }) => words.test(message)) ?? OTHERWISE;
  const said = message
    .replace(/^failed to connect to (sentinel \S+) because /, '$1: ')
    .replace(/, with args beginning with.*/, '')
    .replace(/\.?\s*$/, '');
  // ioredis also uses this message for a refused connection.
  return said.endsWith('Connection is closed') ? { what, advice } : { what, advice, said };
}

/** Node's error for a name with several addresses has a code but no message. */
function messageOf(error: Error): string {
  const { message, code = 'no words' } = error as NodeJS.ErrnoException;
  return message === '' ? code : message;
}
