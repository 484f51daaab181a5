import { type LoggerService } from '@nestjs/common';
import { pino, type Logger } from 'pino';
import { describeError } from '#libs/database';
import { currentTracer } from '#libs/tracing';
import { standardOutput } from './output.js';
import { isTerminal, readableLine } from '#libs/terminal';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Of a start that fails, Nest logs what it throws, which is told by whoever starts. */
const THROWN_TOO: readonly unknown[] = ['ExceptionHandler', 'NestApplication'];

/**
 * JSON lines on standard output, for Nest and for us; readable lines on a terminal. Callers log objects with a constant `message`; never
 * headers, bodies, queries or keys, which is what keeps secrets and personal data out.
 */
export class JsonLogger implements LoggerService {
  private readonly pino: Logger;

  /** @param base what every line says besides the process id. */
  constructor(level: LogLevel, base: object = {}) {
    this.pino = pino(
      {
        level,
        base: { pid: process.pid, ...base },
        messageKey: 'message',
        timestamp: pino.stdTimeFunctions.isoTime,
        mixin: traceOfLine,
        formatters: { level: (label) => ({ level: label }) },
      },
      // Not pino's own: it repeats a failed write for ever when the process exits, even where the reader is gone.
      isTerminal ? { write: (line) => standardOutput.write(readableLine(line)) } : standardOutput,
    );
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.pino.debug(fields(message, rest));
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.debug(message, ...rest);
  }

  log(message: unknown, ...rest: unknown[]): void {
    // Nest's own lines at every start, one per module and route, would bury ours.
    const isNest = typeof message === 'string' && rest.length > 0;
    this.pino[isNest ? 'debug' : 'info'](fields(message, rest));
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.pino.warn(fields(message, rest));
  }

  error(message: unknown, ...rest: unknown[]): void {
    if (THROWN_TOO.includes(rest.at(-1))) return;
    this.pino.error(fields(message, rest));
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.pino.fatal(fields(message, rest));
  }
}

/** Which trace a line belongs to; a request's own line names it itself. */
function traceOfLine(): object {
  const ids = currentTracer()?.ids();
  return ids ? { traceId: ids.traceId, spanId: ids.spanId } : {};
}

/** Nest passes the context, and for errors the stack, as strings behind the message. */
function fields(message: unknown, rest: unknown[]): object {
  const texts = rest.filter((part) => typeof part === 'string');
  const stack = texts.find((text) => /^ +at /m.test(text));
  const context = texts.find((text) => text !== stack);
  const told = message instanceof Error ? describeError(message) : message;
  return {
    ...(typeof told === 'object' && told !== null ? told : { message: String(told) }),
    ...(context === undefined ? {} : { context }),
    ...(stack === undefined ? {} : { stack }),
  };
}
