import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Socket } from 'node:net';
import { type Duplex } from 'node:stream';

/**
 * What streams must keep up with, and all answers: 1 KiB a second. A client may be so many seconds behind, which it
 * gets back by what it sends or reads faster; only the time counts in which it is the client's turn.
 */
export const SLOWEST = 1_024;
const PATIENCE = {
  body: 30,
  /** More, because the system takes what we send in steps of up to a megabyte. */
  answer: 60,
};

/** How a client keeps up: bytes at the last look, and the seconds that it may still be behind. */
type Pace = { bytes: number; seconds: number };

/**
 * Seconds in which it is our turn and not a byte moves, after which a request is answered 503: PostgreSQL hangs, or a lock
 * does. Longer than the longest statement that is allowed to take its time (`LONGEST_MS`: a page may wait 5 s for its turn and
 * run 5 s, that of a stream three times as long), so that what works is never cut; shorter than a proxy waits.
 */
export const DEADLINE = { request: 30, stream: 60 };
/** How long nothing has moved on a connection that waits for us. */
type Standstill = { response: ServerResponse; moved: number; seconds: number };

const longBodies = new WeakMap<Duplex, { request: IncomingMessage; pace: Pace }>();

/**
 * Lets the body of this request take any time, as long as it comes as fast as `SLOWEST`. For streamed imports,
 * once the caller is known: an unknown one could hold connections for ever.
 */
export function allowLongBody(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  request.isStream = true;
  longBodies.set(socket, { request, pace: { bytes: socket.bytesRead, seconds: PATIENCE.body } });
  response.once('close', () => longBodies.delete(socket));
}

/** Whether who sends, and who answers, keeps up. To be asked of each connection once a second, no more and no less. */
export class Pacing {
  private readonly answers = new WeakMap<Socket, Pace>();
  private readonly standstills = new WeakMap<Socket, Standstill>();

  /** The request whose body comes too slowly; undefined where none does. */
  lateBody(socket: Socket): IncomingMessage | undefined {
    const body = longBodies.get(socket);
    if (!body) return undefined;
    const { request, pace } = body;
    return isTooSlow(pace, socket.bytesRead, PATIENCE.body, isAwaitingBody(request)) ? request : undefined;
  }

  /** Whether its client reads answers too slowly. */
  isReadTooSlowly(socket: Socket): boolean {
    const isClientsTurn = socket.writableLength > 0;
    let pace = this.answers.get(socket);
    if (!pace) {
      if (!isClientsTurn) return false;
      this.answers.set(socket, (pace = { bytes: bytesTaken(socket), seconds: PATIENCE.answer }));
    }
    return isTooSlow(pace, bytesTaken(socket), PATIENCE.answer, isClientsTurn);
  }

  /** Whether an answer, the one that its connection waits for, has kept its client waiting beyond `DEADLINE`. */
  isLate(socket: Socket, response: ServerResponse): boolean {
    const { req: request } = response;
    const moved = socket.bytesRead - request.readableLength + bytesTaken(socket);
    const before = this.standstills.get(socket);
    const isOurTurn = !isAwaitingBody(request) && socket.writableLength === 0 && !response.writableEnded;
    if (!isOurTurn || before?.response !== response || before.moved !== moved) {
      this.standstills.set(socket, { response, moved, seconds: 0 });
      return false;
    }
    // One second each look, however late it is: a process that was stopped has not let its clients wait for the database.
    before.seconds += 1;
    return before.seconds >= (request.isStream ? DEADLINE.stream : DEADLINE.request);
  }
}

/** Whether a request has a body that is to come at a pace, not within a time. */
export function hasLongBody(socket: Duplex): boolean {
  return longBodies.has(socket);
}

/** Whether it is the client's turn to send; what has come and is not read yet waits for us. */
function isAwaitingBody(request: IncomingMessage): boolean {
  return request.readableLength === 0 && !request.complete;
}

function isTooSlow(pace: Pace, bytes: number, patience: number, isClientsTurn: boolean): boolean {
  const passed = (bytes - pace.bytes) / SLOWEST;
  pace.bytes = bytes;
  // One second each look, however late it is: a server that hangs must not count it against its clients.
  pace.seconds = Math.min(patience, pace.seconds + passed) - (isClientsTurn ? 1 : 0);
  return pace.seconds < 0;
}

/** The bytes of a connection that the system has taken to send, also of a write that it has not taken whole. */
function bytesTaken(socket: Socket): number {
  // Node's own timeout looks at the same field, for want of a public one.
  const { _handle } = socket as { _handle?: { bytesWritten?: number; writeQueueSize?: number } };
  return (_handle?.bytesWritten ?? 0) - (_handle?.writeQueueSize ?? 0);
}
