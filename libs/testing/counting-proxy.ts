import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The statements of one network round trip: those that a client sent before it received any response. Pipelined statements are one
 * turn, and so are several statements in one message.
 */
export type Turn = { statements: string[] };

/**
 * A proxy between a program and PostgreSQL that counts statements, for any driver. It reads the messages of PostgreSQL's
 * protocol (version 3, without TLS) and passes them on unchanged.
 */
export type CountingProxy = {
  /** The server's URL with the proxy's address. */
  url: string;
  /** Resets the counters. */
  forget(): void;
  /** The turns since the last reset, in the order of their start. Opening a connection does not count. */
  readonly turns: readonly Turn[];
  /** Resolves when every statement has its response and clients send nothing more. */
  quiet(): Promise<void>;
  close(): Promise<void>;
};

/** Allows for statements that follow a response without being awaited. */
const QUIET_MS = 5;

export async function startCountingProxy(url: string): Promise<CountingProxy> {
  const target = new URL(url);
  const conversations = new Set<Conversation>();
  const sockets = new Set<Socket>();
  let turns: Turn[] = [];
  let messages = 0;

  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const conversation = new Conversation((turn) => turns.push(turn));
    conversations.add(conversation);
    join(client, upstream, (bytes) => conversation.asked(bytes));
    join(upstream, client, (bytes) => conversation.answered(bytes));
    client.once('close', () => conversations.delete(conversation));
  });

  function join(from: Socket, to: Socket, read: (bytes: Buffer) => void): void {
    sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (bytes: Buffer) => {
      messages += 1;
      read(bytes);
      to.write(bytes);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  own.hostname = '127.0.0.1';
  // The server's socket would bypass the proxy.
  own.searchParams.delete('host');
  own.port = String((server.address() as AddressInfo).port);
  return {
    url: own.href,
    forget: () => void (turns = []),
    get turns() {
      return turns;
    },
    async quiet() {
      for (let before = -1; before !== messages;) {
        before = messages;
        await sleep(QUIET_MS);
        if ([...conversations].some(({ isBusy }) => isBusy)) before = -1;
      }
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** A response that is still missing: the end of one statement (Execute), or the ReadyForQuery after Query or Sync. */
type Awaited = { end: 'statement' | 'query' | 'sync'; text: string; turn: Turn };

/** The messages of one connection. */
class Conversation {
  private readonly awaited: Awaited[] = [];
  private readonly statements = new Map<string, string>();
  private readonly portals = new Map<string, string>();
  private fromClient = Buffer.alloc(0);
  private fromServer = Buffer.alloc(0);
  private hasBegun = false;
  private turn: Turn | undefined;

  constructor(private readonly begins: (turn: Turn) => void) {}

  get isBusy(): boolean {
    return this.awaited.length > 0;
  }

  asked(bytes: Buffer): void {
    this.fromClient = Buffer.concat([this.fromClient, bytes]);
    // Only the first message has no type byte.
    if (!this.hasBegun) {
      if (this.fromClient.length < 4 || this.fromClient.length < this.fromClient.readInt32BE(0)) return;
      this.fromClient = this.fromClient.subarray(this.fromClient.readInt32BE(0));
      this.hasBegun = true;
    }
    this.fromClient = eachMessage(this.fromClient, (letter, body) => this.ask(letter, body));
  }

  answered(bytes: Buffer): void {
    this.fromServer = eachMessage(Buffer.concat([this.fromServer, bytes]), (letter) => this.answer(letter));
  }

  private ask(letter: string, body: Buffer): void {
    const [first = '', second = ''] = body.toString('latin1').split('\0', 2);
    if (letter === 'P') this.statements.set(first, textIn(body.subarray(first.length + 1)));
    if (letter === 'B') this.portals.set(first, this.statements.get(second) ?? '');
    if (letter === 'Q') this.wait('query', textIn(body));
    if (letter === 'E') this.wait('statement', this.portals.get(first) ?? '');
    if (letter === 'S') this.wait('sync', '');
  }

  private wait(end: Awaited['end'], text: string): void {
    if (!this.turn) this.begins((this.turn = { statements: [] }));
    this.awaited.push({ end, text, turn: this.turn });
  }

  private answer(letter: string): void {
    const [next] = this.awaited;
    // The connection is still being opened.
    if (!next) return;
    // CommandComplete, EmptyQueryResponse, PortalSuspended, ErrorResponse.
    if ('CIsE'.includes(letter)) {
      next.turn.statements.push(next.text);
      if (next.end === 'statement') this.awaited.shift();
      // After an error, the server skips all messages up to the Sync.
      if (letter === 'E') while (this.awaited[0]?.end === 'statement') this.awaited.shift();
    }
    if (letter === 'Z') {
      this.awaited.shift();
      this.turn = undefined;
    }
  }
}

/** @returns the rest: an incomplete message, or nothing */
function eachMessage(bytes: Buffer, read: (letter: string, body: Buffer) => void): Buffer<ArrayBuffer> {
  let rest = bytes;
  while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
    const end = 1 + rest.readInt32BE(1);
    read(String.fromCharCode(rest[0]!), rest.subarray(5, end));
    rest = rest.subarray(end);
  }
  return Buffer.from(rest);
}

/** The text up to the zero byte, on one line. */
function textIn(body: Buffer): string {
  const text = body.toString('utf8', 0, body.indexOf(0));
  return text.replace(/\s+/g, ' ').trim();
}
