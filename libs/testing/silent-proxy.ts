import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * What stands between a program and a server, and breaks as networks do:
 *
 * - `silence()`: the connections that are there go silent, as when a host is lost or its address moves. What either side
 *   sends vanishes, and neither is told, not even that the other has closed. New ones go through.
 * - `silence({ serverGone: true })`: the same, but the server sees them closed: its locks are free, as those of a lost
 *   host are.
 * - `freeze()`: those that are there and new ones hang, and lose nothing: `thaw()` lets all go on.
 * - `cut()`: those that are there are reset. `refuse()`: new ones are, too, until `accept()`.
 */
export type SilentProxy = {
  port: number;
  /** The server's address with the proxy's in its place. */
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

  // Half open, for a silent side must not be told by our own goodbye that the other has gone.
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

  /** Not `pipe`, which a silence would have to take apart. */
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
        // Read on, so that neither side notices by a full buffer.
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
