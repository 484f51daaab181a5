import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { type Duplex } from 'node:stream';

/**
 * The slowest pace for streams and for all responses: 1 KiB a second. `PATIENCE` is how many seconds a client may fall
 * behind. It catches up by sending or reading faster. Only time in which it is the client's turn counts.
 */
export const SLOWEST = 1_024;
const PATIENCE = {
  body: 30,
  /** Longer, because the system accepts what we send in steps of up to a megabyte. */
  answer: 60,
};

/** A client's pace: bytes at the last check, and the seconds that it may still fall behind. */
type Pace = { bytes: number; seconds: number };

/**
 * Seconds in which it is our turn and no byte moves, until the request fails with 503: PostgreSQL or a lock hangs.
 * Longer than the longest statement allowed (`LONGEST_MS`: a page may wait 5 s and run 5 s, a stream three times as
 * long), so that working requests are never cut off. Shorter than proxies wait.
 */
export const DEADLINE = { request: 30, stream: 60 };
/** How long nothing has moved on a connection that waits for us. */
type Standstill = { response: ServerResponse; moved: number; seconds: number };

const longBodies = new WeakMap<Duplex, { request: IncomingMessage; pace: Pace }>();

/**
 * Allows this request's body any time, if it arrives at least as fast as `SLOWEST`. For streamed imports, after
 * authentication: an unknown caller could hold connections forever.
 */
export function allowLongBody(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  request.isStream = true;
  longBodies.set(socket, { request, pace: { bytes: socket.bytesRead, seconds: PATIENCE.body } });
  response.once('close', () => longBodies.delete(socket));
}

/** Checks that clients send and read, and that we respond, fast enough. Check each connection exactly once a second. */
export class Pacing {
  private readonly answers = new WeakMap<Socket, Pace>();
  private readonly standstills = new WeakMap<Socket, Standstill>();

  /** The request whose body arrives too slowly, if any. */
  lateBody(socket: Socket): IncomingMessage | undefined {
    const body = longBodies.get(socket);
    if (!body) return undefined;
    const { request, pace } = body;
    return isTooSlow(pace, socket.bytesRead, PATIENCE.body, isAwaitingBody(request)) ? request : undefined;
  }

  /** Whether the client reads responses too slowly. */
  isReadTooSlowly(socket: Socket): boolean {
    const isClientsTurn = socket.writableLength > 0;
    let pace = this.answers.get(socket);
    if (!pace) {
      if (!isClientsTurn) return false;
      this.answers.set(socket, (pace = { bytes: bytesTaken(socket), seconds: PATIENCE.answer }));
    }
    return isTooSlow(pace, bytesTaken(socket), PATIENCE.answer, isClientsTurn);
  }

  /** Whether the response that the connection waits for has exceeded `DEADLINE`. */
  isLate(socket: Socket, response: ServerResponse): boolean {
    const { req: request } = response;
    const moved = socket.bytesRead - request.readableLength + bytesTaken(socket);
    const before = this.standstills.get(socket);
    const isOurTurn = !isAwaitingBody(request) && socket.writableLength === 0 && !response.writableEnded;
    if (!isOurTurn || before?.response !== response || before.moved !== moved) {
      this.standstills.set(socket, { response, moved, seconds: 0 });
      return false;
    }
    // One second per check, however late it is: a suspended process did not let its clients wait for the database.
    before.seconds += 1;
    return before.seconds >= (request.isStream ? DEADLINE.stream : DEADLINE.request);
  }
}

/** Whether the request's body must keep a pace instead of a time limit. */
export function hasLongBody(socket: Duplex): boolean {
  return longBodies.has(socket);
}

/** Whether it is the client's turn to send. If received data is not read yet, it is ours. */
function isAwaitingBody(request: IncomingMessage): boolean {
  return request.readableLength === 0 && !request.complete;
}

function isTooSlow(pace: Pace, bytes: number, patience: number, isClientsTurn: boolean): boolean {
  const passed = (bytes - pace.bytes) / SLOWEST;
  pace.bytes = bytes;
  // One second per check, however late it is: a server that hangs must not count it against its clients.
  pace.seconds = Math.min(patience, pace.seconds + passed) - (isClientsTurn ? 1 : 0);
  return pace.seconds < 0;
}

/** The connection's bytes that the system has accepted for sending, including those of a partly accepted write. */
function bytesTaken(socket: Socket): number {
  // Node.js's own timeout uses the same field. There is no public one.
  const { _handle } = socket as { _handle?: { bytesWritten?: number; writeQueueSize?: number } };
  return (_handle?.bytesWritten ?? 0) - (_handle?.writeQueueSize ?? 0);
}
