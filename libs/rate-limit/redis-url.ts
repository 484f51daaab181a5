type RedisNode = { host: string; port: number };

type Credentials = { username?: string; password?: string; tls: boolean };

export type RedisTarget =
  | { kind: 'single'; url: string }
  | ({ kind: 'cluster'; nodes: RedisNode[] } & Credentials)
  | ({
      kind: 'sentinel';
      sentinels: RedisNode[];
      /** The sentinels' name for the master. */
      name: string;
      database: number;
      sentinelPassword?: string;
    } & Credentials);

export const REDIS_URL_FORMS =
  'redis://[user:password@]host[:port][/database]; for a cluster, redis://host:port,host:port or redis://host?cluster=true; ' +
  'for sentinels, redis+sentinel://host:port,host:port/name-of-the-master[/database]; for TLS, rediss instead of redis';

/** A password may contain anything percent-encoded. An IPv6 address is in brackets. */
const URL_PARTS =
  /^redis(?<tls>s?)(?<sentinel>\+sentinel)?:\/\/(?:(?<credentials>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?<path>\/[^?#]*)?(?:\?(?<query>[^#]*))?$/i;
const HOST = /^(?<host>\[[0-9a-f:.]+\]|[^:[\]\s]+)(?::(?<port>\d{1,5}))?$/i;

/** @returns undefined if it has none of {@link REDIS_URL_FORMS}. */
export function readRedisUrl(text: string): RedisTarget | undefined {
  try {
    return read(text);
  } catch {
    // A lone % that cannot be decoded.
    return undefined;
  }
}

function read(text: string): RedisTarget | undefined {
  const parts = URL_PARTS.exec(text)?.groups;
  if (!parts) return undefined;
  const isSentinel = parts.sentinel !== undefined;
  const nodes = parts.hosts!.split(',').map((host) => nodeOf(host, isSentinel ? 26_379 : 6_379));
  if (nodes.includes(undefined)) return undefined;
  const hosts = nodes as RedisNode[];
  const query = new URLSearchParams(parts.query);
  const path = (parts.path ?? '').split('/').slice(1).map(decodeURIComponent);
  const credentials = { ...credentialsOf(parts.credentials ?? ''), tls: parts.tls !== '' };

  if (isSentinel) {
    const [name = '', database = '', ...rest] = path;
    const isKnown = [...query.keys()].every((key) => key === 'sentinelPassword');
    if (name === '' || !/^\d{0,4}$/.test(database) || rest.length > 0 || !isKnown) return undefined;
    const sentinelPassword = query.get('sentinelPassword');
    return {
      kind: 'sentinel',
      sentinels: hosts,
      name,
      database: Number(database),
      ...(sentinelPassword === null ? {} : { sentinelPassword }),
      ...credentials,
    };
  }
  const cluster = query.get('cluster');
  if (![null, 'true', 'false'].includes(cluster)) return undefined;
  if (hosts.length > 1 ? cluster === 'false' : cluster !== 'true') {
    return hosts.length === 1 && URL.canParse(text) ? { kind: 'single', url: text } : undefined;
  }
  // A cluster has only one database.
  if (!['', '0'].includes(path.join('/')) || query.size > (cluster === null ? 0 : 1)) return undefined;
  return { kind: 'cluster', nodes: hosts, ...credentials };
}

function nodeOf(text: string, preset: number): RedisNode | undefined {
  const { host, port = String(preset) } = HOST.exec(text)?.groups ?? {};
  if (host === undefined || Number(port) === 0 || Number(port) > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

function credentialsOf(text: string): { username?: string; password?: string } {
  const [, username = '', password] = /^([^:]*)(?::(.*))?$/.exec(text)!;
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === undefined ? {} : { password: decodeURIComponent(password) }),
  };
}
