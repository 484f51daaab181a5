import { Cluster, type Redis } from 'ioredis';

/** One server (or the master that sentinels name), or a cluster of them. */
export type RedisConnection = Redis | Cluster;

/** Why Redis cannot be used, in half a sentence, and what to do, in whole ones. */
export type RedisIncident = { what: string; advice: string };

const PASSWORD =
  'Set the password of REDIS_URL (redis://:password@…, percent-encoded), that of sentinels as ?sentinelPassword=….';

/** The first that fits what Redis, ioredis or the operating system said. */
const INCIDENTS: readonly ({ words: RegExp } & RedisIncident)[] = [
  { words: /NOAUTH/, what: 'it wants a password', advice: PASSWORD },
  { words: /WRONGPASS|invalid password/, what: 'it refuses the user or the password', advice: PASSWORD },
  {
    words: /NOPERM/,
    what: 'its user may not do what counting needs',
    advice: 'Give the user scripts and the keys: ACL SETUSER … ~rate-limit:* +@all -@dangerous +info.',
  },
  {
    words: /No such master/,
    what: 'its sentinels know no master of that name',
    advice:
      'Mend the name at the end of REDIS_URL: SENTINEL MASTERS, asked of a sentinel, lists those that there are.',
  },
  {
    words: /unknown command '?sentinel/i,
    what: 'what REDIS_URL names as sentinels are none',
    advice: 'Name the sentinels, which listen on 26379 mostly, or the server itself as redis://….',
  },
  {
    words: /unknown command '?eval/i,
    what: 'it runs no scripts: REDIS_URL names a sentinel, or something that is no Redis',
    advice: 'Name the server itself, or say redis+sentinel://host:26379/name-of-the-master.',
  },
  {
    words: /CLUSTERDOWN/,
    what: 'its cluster has slots that no master serves',
    advice:
      'Ask a node for CLUSTER INFO and CLUSTER NODES; start the masters that are missing, or assign their slots.',
  },
  {
    words: /^LOADING/,
    what: 'it is still loading its data',
    advice: 'Wait; INFO persistence tells how far it is.',
  },
  {
    words: /max number of clients/,
    what: 'it takes no more connections',
    advice: 'Raise its maxclients, or find out with CLIENT LIST who holds them.',
  },
  {
    words: /READONLY/,
    what: 'it is a replica, which counts nothing',
    advice: 'Name the primary, or let sentinels or a name that follows the primary tell it.',
  },
  {
    words: /^OOM/,
    what: 'its memory is full',
    advice: 'Raise maxmemory, or find out who else writes to it.',
  },
  {
    words: /ENOTFOUND|EAI_AGAIN/,
    what: 'its host has no address',
    advice: 'Mend the name in REDIS_URL, or the name service.',
  },
  {
    words: /certificate|TLS|SSL|EPROTO|wrong version number/i,
    what: 'it does not agree on TLS with us',
    advice:
      'Say rediss:// where it speaks TLS, with a certificate that Node trusts (NODE_EXTRA_CA_CERTS), and redis:// where not.',
  },
  {
    words: /ECONNREFUSED|Connection is closed/,
    what: 'nothing takes connections where REDIS_URL says',
    advice: 'Start it, or mend hosts and ports in REDIS_URL.',
  },
  {
    words: /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timeout|no answer/i,
    what: 'it does not answer',
    advice:
      'Look whether its process hangs and a firewall stands in between; where it speaks TLS, say rediss://.',
  },
];

const OTHERWISE: RedisIncident = {
  what: 'there is no connection to it',
  advice: 'Start it, or mend hosts, ports and password in REDIS_URL.',
};
const NO_NODES: RedisIncident = {
  what: 'no node of its cluster tells of a master',
  advice:
    'Start its nodes, or mend hosts and ports in REDIS_URL; CLUSTER INFO tells whether slots are assigned.',
};

const failures = new WeakMap<RedisConnection, Error>();

/** From now on it is remembered why the connection does not come about, which its commands' errors do not say. */
export function rememberFailures(redis: RedisConnection): void {
  const keep = (error: Error) => failures.set(redis, lastOf(error));
  // Of a round among sentinels the next line tells only that it failed, this one why.
  redis.on('sentinelError', keep);
  redis.on('error', (error: Error) => error.message.startsWith('All sentinels') || keep(error));
  redis.on('ready', () => failures.delete(redis));
}

/** Of a cluster that cannot be reached, why its last node could not. */
export function lastOf(error: Error): Error {
  return 'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError : error;
}

/**
 * Why a command failed. `said` is what Redis or the system said, undefined where only ioredis spoke, of its own options.
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
  // Of a refused connection, too, ioredis tells no more than that.
  return said.endsWith('Connection is closed') ? { what, advice } : { what, advice, said };
}

/** Node's error for a name with several addresses has a code and no message. */
function messageOf(error: Error): string {
  const { message, code = 'no words' } = error as NodeJS.ErrnoException;
  return message === '' ? code : message;
}
