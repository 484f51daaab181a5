import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * A proxy between a program and a server that fails like a network:
 *
 * - `silence()`: existing connections go silent, as if a host failed or its address moved. The proxy drops everything, and neither
 *   side notices, not even if the other side closes. New connections work.
 * - `silence({ serverGone: true })`: the same, but the server sees the connections close and releases their locks, as if the client's
 *   host had failed.
 * - `freeze()`: existing and new connections hang without losing data, until `thaw()`.
 * - `cut()`: existing connections are reset. `refuse()`: new ones too, until `accept()`.
 */
export type SilentProxy = {
  port: number;
  /** The server's URL with the proxy's address. */
  url: string;
  /** Connections that are neither silent nor closed. */
  readonly connections: number;
  silence(options?: Silence): void;
  freeze(): void;
  thaw(): void;
  cut(): void;
  refuse(): void;
  accept(): void;
  close(): Promise<void>;
};

/** `from`: only the connection that comes from this port. */
type Silence = { serverGone?: boolean; from?: number | undefined };

/** Starts a proxy on 127.0.0.1 for the server that `url` names. */
export async function startSilentProxy(url: string): Promise<SilentProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const pairs = new Set<{ client: Socket; upstream: Socket }>();
  const silent = new Set<Socket>();
  let frozen = false;
  let refusing = false;

  // Half open, because a silenced side must not learn from our own close that the other side has closed.
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => {
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const port = Number(target.port || 5432);
    const upstream = connect({ host: target.hostname, port, allowHalfOpen: true });
    const pair = { client, upstream };
    pairs.add(pair);
    client.once('close', () => pairs.delete(pair));
    join(client, upstream);
    join(upstream, client);
    for (const socket of [client, upstream]) {
      if (frozen) socket.pause();
      else socket.resume();
    }
  });

  /** Not `pipe`, because `silence` would have to undo it. */
  function join(from: Socket, to: Socket): void {
    sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (bytes) => {
      if (silent.has(from) || to.destroyed || to.write(bytes)) return;
      from.pause();
      to.once('drain', () => frozen || from.resume());
    });
    from.on('end', () => silent.has(from) || to.end());
    from.on('error', () => silent.has(from) || to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      if (!silent.has(from)) to.destroy();
    });
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const own = new URL(url);
  own.hostname = '127.0.0.1';
  // The server's socket would bypass the proxy.
  own.searchParams.delete('host');
  own.port = String(port);
  return {
    port,
    url: own.href,
    get connections() {
      return [...pairs].filter(({ client }) => !silent.has(client)).length;
    },
    silence({ serverGone = false, from } = {}) {
      for (const { client, upstream } of pairs) {
        if (from !== undefined && client.remotePort !== from) continue;
        silent.add(client).add(upstream);
        // Keep reading, so that no full buffer reveals the silence.
        for (const socket of [client, upstream]) socket.resume();
        if (serverGone) upstream.resetAndDestroy();
      }
    },
    freeze() {
      frozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw() {
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    cut() {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    refuse: () => void (refusing = true),
    accept: () => void (refusing = false),
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
