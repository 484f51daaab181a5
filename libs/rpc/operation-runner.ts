import { Injectable } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { traced } from '#libs/tracing';
import { type RequestContext } from './context.js';
import { RpcError } from './errors.js';
import { takeExpectedVersion } from './expected-version.js';
import { type Input, type InputClass, invalid, parseInput, type StreamedBody } from './input.js';
import { type OperationDefinition, operationOf } from './operation.js';
import { inPast } from './past.js';
import { type Caller } from './request.js';
import { requireFieldScopes, requireScope, scopeOf } from './scopes.js';

/** Runs operations for every caller: the API, the dashboard, the command line or the program itself. */
@Injectable()
export class OperationRunner {
  constructor(
    private readonly commands: CommandBus,
    private readonly queries: QueryBus,
  ) {}

  /**
   * Runs an operation with unchecked fields, as the API does.
   *
   * @param fields strings for a query or a streamed body, JSON for any other command.
   * @throws RpcError INSUFFICIENT_PERMISSIONS, what `read` throws, then what the operation throws.
   */
  run<Answer>(
    type: InputClass,
    fields: unknown,
    context: RequestContext,
    body?: StreamedBody,
  ): Promise<Answer> {
    const operation = operationOf(type)!;
    requireScope(context.scopes, scopeOf(operation));
    const input = this.read(type, operation, fields, context);
    input.context = context;
    return this.execute(Object.assign(input, body), operation);
  }

  /**
   * Checks fields in the order that the API promises: each field, the organization, the scopes of fields, `exactlyOne`. The input has no context yet.
   *
   * @throws RpcError BAD_REQUEST, FORBIDDEN or INSUFFICIENT_PERMISSIONS.
   */
  read<T extends Input>(
    type: InputClass<T>,
    operation: OperationDefinition,
    fields: unknown,
    { organizationId, scopes }: Pick<Caller, 'organizationId' | 'scopes'>,
  ): T {
    const { method, bodyTypes, exactlyOne } = operation;
    const input = parseInput(type, fields, method === 'GET' || bodyTypes ? 'query' : 'body');
    input.organizationId ??= organizationId;
    if (input.organizationId !== organizationId) {
      throw new RpcError(
        'FORBIDDEN',
        'This API key does not belong to the organization in organizationId. Send the organization of the key, or use a key of that organization.',
      );
    }
    requireFieldScopes(operation, scopes, input);
    if (exactlyOne) requireOne(input, exactlyOne);
    takeExpectedVersion(input);
    return input;
  }

  /**
   * Runs a query or a command. Its fields were checked, or come from the program itself.
   *
   * @param operation undefined for a command that only the program runs.
   */
  execute<Answer>(
    input: Input,
    operation: OperationDefinition | undefined = operationOf(input.constructor),
  ): Promise<Answer> {
    const isQuery = operation?.method === 'GET';
    const work = (): Promise<Answer> =>
      isQuery ? this.queries.execute(input) : this.commands.execute(input);
    const isPast = 'asOf' in input && input.asOf !== undefined;
    return traced(
      isQuery ? 'query' : 'command',
      { operation: operation?.name ?? input.constructor.name },
      isPast ? () => inPast(work) : work,
    );
  }
}

/** @throws RpcError BAD_REQUEST */
function requireOne(input: object, [first, ...others]: readonly string[]): void {
  const given = [first!, ...others].filter((name) => (input as Record<string, unknown>)[name] !== undefined);
  if (given.length === 1) return;
  throw invalid([
    { path: first!, message: `or ${others.join(' or ')} is required: send exactly one of them` },
  ]);
}
