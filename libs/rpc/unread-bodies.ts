import { type IncomingMessage } from 'node:http';
import { type Socket } from 'node:net';
import { hasBody } from './body.js';

/**
 * Limits: the size of the largest import, and a minute, like Node's time limit for a whole request.
 */
const LIMITS = { bytes: 256 * 1024 * 1024, seconds: 60 };
const LOOKS_PER_SECOND = 10;

/**
 * Reads and drops the rest of bodies whose requests got a response early. Many clients send the whole body
 * before they read. If the server closed the connection or stopped reading, such a client would get a reset or
 * hang, and never see the response. Above a limit, the connection is closed.
 */
export class UnreadBodies {
  /** The last request with a body, by connection. */
  private readonly requests = new WeakMap<Socket, IncomingMessage>();
  private readonly draining = new WeakMap<Socket, { isLast: boolean }>();

  constructor(
    private readonly lingerMs: number,
    private readonly limits = LIMITS,
  ) {}

  /**
   * Node.js closes a connection right after its last response (`Connection: close`). This delays it until the
   * body has ended.
   */
  guard(socket: Socket): void {
    const destroySoon = socket.destroySoon.bind(socket);
    socket.destroySoon = () => {
      const request = this.requests.get(socket);
      if (!request || request.complete || socket.destroyed) destroySoon();
      else this.drain(request, true);
    };
  }

  expect(request: IncomingMessage): void {
    if (hasBody(request)) this.requests.set(request.socket, request);
  }

  isDraining(socket: Socket): boolean {
    return this.draining.has(socket);
  }

  /** Reads and drops the rest of the body, if any. @param isLast whether to close the connection afterwards. */
  drain(request: IncomingMessage, isLast = false): void {
    const { socket } = request;
    if (request.complete || socket.destroyed) return;
    const underWay = this.draining.get(socket);
    if (underWay) {
      underWay.isLast ||= isLast;
      return;
    }
    const drain = { isLast };
    this.draining.set(socket, drain);
    const begin = socket.bytesRead;
    let looks = this.limits.seconds * LOOKS_PER_SECOND;
    const stop = () => {
      clearInterval(looking);
      socket.off('close', stop);
      this.draining.delete(socket);
      if (drain.isLast) socket.destroySoon();
    };
    const looking = setInterval(() => {
      looks -= 1;
      if (request.complete) stop();
      else if (looks <= 0 || socket.bytesRead - begin > this.limits.bytes) {
        clearInterval(looking);
        // The client can still read the response and the end of the connection.
        socket.end();
        setTimeout(() => socket.destroy(), this.lingerMs).unref();
      }
    }, 1_000 / LOOKS_PER_SECOND).unref();
    request.once('end', stop);
    socket.once('close', stop);
    request.resume();
  }
}
