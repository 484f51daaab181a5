import { type Command } from 'commander';
import { NestFactory } from '@nestjs/core';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { describeError } from '#libs/database';
import { JsonLogger } from '#libs/operations';
import { type Input, type InputClass, isId, systemInput } from '#libs/rpc';
import { ALL_ORGANIZATIONS, logIdOf, logNameOf } from '#libs/sealing';
import { AppModule } from '../app.module.js';
import { invokedFrom, loadConfig } from '../config.js';
import { organization } from '../organizations/index.js';
import { openRuntime, type Runtime } from '../runtime.js';

/** A mistake of the person at the keyboard: one sentence, no stack. */
export class UsageError extends Error {}

/** What a shell takes for "ended by Ctrl-C". */
export const INTERRUPTED = 130;

export type Session = {
  runtime: Runtime;
  run: <Result>(command: Input) => Promise<Result>;
  ask: <Result>(query: Input) => Promise<Result>;
  /** @throws UsageError unless the organization exists. */
  requireOrganization: (organizationId: string) => Promise<void>;
  /**
   * Of an organization, or with `all` of the log of all.
   *
   * @returns the id under which it is stored. @throws UsageError where there is no such organization.
   */
  requireLog: (name: string) => Promise<string>;
};

/** Opens the database, runs the work, prints what it answers, if anything. */
export async function withSession(
  program: Command,
  work: (session: Session) => Promise<unknown>,
): Promise<void> {
  try {
    const config = loadConfig();
    const logger = new JsonLogger('silent');
    const runtime = await openRuntime(config, logger);
    try {
      const module = AppModule.of(runtime, { ...config, redisUrl: undefined });
      const app = await NestFactory.createApplicationContext(module, { logger });
      const bus = app.get(CommandBus);
      const queries = app.get(QueryBus);
      const records = app.get(RecordReader);
      const requireOrganization = async (organizationId: string) => {
        const { state } = isId(organizationId)
          ? await records.load(organization, organizationId, organizationId)
          : { state: organization.initial };
        if (state.status === 'unknown') throw new UsageError('There is no organization with this id.');
      };
      const answer = await work({
        runtime,
        run: <Result>(command: Input) => bus.execute<Input, Result>(command),
        ask: <Result>(query: Input) => queries.execute<Input, Result>(query),
        requireOrganization,
        async requireLog(name) {
          if (name !== logNameOf(ALL_ORGANIZATIONS)) await requireOrganization(name);
          return logIdOf(name);
        },
      });
      if (answer !== undefined) {
        const indent = program.opts<{ json?: true }>().json ? 0 : 2;
        process.stdout.write(`${JSON.stringify(answer, null, indent)}\n`);
      }
      await app.close();
    } finally {
      await runtime.close();
    }
  } catch (error) {
    process.stderr.write(`${describeError(error)}\n`);
    process.exitCode = 1;
  }
}

export function input<T extends Input>(type: InputClass<T>, organizationId: string, fields: Partial<T>): T {
  return systemInput(type, organizationId, fields, 'command-line');
}

/** Aborted by Ctrl-C. Not once: of it the terminal tells us and npm, which passes it on. */
export function interruptible(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => controller.abort());
  return controller.signal;
}

/** Writes to standard output, for as long as somebody reads it: `| head` has read enough at some line. */
export async function print(chunks: AsyncIterable<string | Uint8Array>, signal: AbortSignal): Promise<void> {
  try {
    await pipeline(chunks, process.stdout, { signal, end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}

/** A file as whoever typed it means it: npm runs us in the checkout, and tells where they are. */
export function path(name: string): string {
  return name === '-' ? name : resolve(invokedFrom(), name);
}
