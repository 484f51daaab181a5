import { type LoggerService } from '@nestjs/common';
import { pino, type Logger } from 'pino';
import { describeError } from '#libs/database';
import { currentTracer } from '#libs/tracing';
import { standardOutput } from './output.js';
import { isTerminal, readableLine } from '#libs/terminal';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Nest also logs the error of a failed start, which the caller logs itself. */
const THROWN_TOO: readonly unknown[] = ['ExceptionHandler', 'NestApplication'];

/**
 * Writes JSON lines to standard output, or readable lines to a terminal. Callers log objects with a constant `message`, but
 * never headers, bodies, queries or keys. That keeps secrets and personal data out of the log.
 */
export class JsonLogger implements LoggerService {
  private readonly pino: Logger;

  /** @param base further fields of every line, in addition to the process id. */
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
      // Not pino's own output: when the process exits, it repeats a failed write forever, even if the reader has ended.
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
    // Nest logs a line per module and route at every start, among which ours would be lost.
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

/** The trace that a line belongs to. The line of a request sets it itself. */
function traceOfLine(): object {
  const ids = currentTracer()?.ids();
  return ids ? { traceId: ids.traceId, spanId: ids.spanId } : {};
}

/** Nest passes the context, and for errors the stack, as strings after the message. */
function fields(message: unknown, rest: unknown[]): object {
  const texts = rest.filter((part) => typeof part === 'string');
  const stack = texts.find((text) => /^ +at /m.test(text));
  const context = texts.find((text) => text !== stack);
  const content = message instanceof Error ? describeError(message) : message;
  return {
    ...(typeof content === 'object' && content !== null ? content : { message: String(content) }),
    ...(context === undefined ? {} : { context }),
    ...(stack === undefined ? {} : { stack }),
  };
}
