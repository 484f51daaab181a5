import {
  Controller,
  Delete,
  Get,
  HttpCode,
  type ModuleMetadata,
  Post,
  Req,
  Res,
  type Type,
} from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { type Request, type Response } from 'express';
import { ClientGone, readJsonBody, refuseBody, streamBody } from './body.js';
import { type RequestContext } from './context.js';
import { declareErrors } from './declared-errors.js';
import { Documented } from './documented.js';
import { RpcError } from './errors.js';
import { type Input, type InputClass, invalid, parseInput, type StreamedInput } from './input.js';
import { openStream } from './open-streams.js';
import { Operation, type OperationDefinition, operationOf, operationsAmong } from './operation.js';
import { operationDocumentation } from './operation-documentation.js';
import { type Page } from './paging.js';
import { notFoundThen, PastRecord } from './past.js';
import { possibleErrors } from './possible-errors.js';
import { traced } from '#libs/tracing';
import { readQuery, refuseQuery } from './query.js';
import { requireFieldScopes } from './scopes.js';
import { nowAndThen, whileAllowed } from './standing.js';
import { sendStream, type StreamedAnswer } from './streamed-answer.js';
import { countAnswer, requireReading } from './unread-answers.js';
import { allowLongBody } from './pacing.js';

/** Metadata keys of @CommandHandler and @QueryHandler (@nestjs/cqrs does not export its constants). */
const HANDLERS = ['__commandHandler__', '__queryHandler__'];

const ROUTES = { GET: Get, POST: Post, DELETE: Delete };
const VERSION = 'v1';

/** 1–255 visible ASCII characters. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** The path of an operation: `/v1/contact.create-contact`. */
function pathOf({ name }: OperationDefinition): string {
  return `/${VERSION}/${name}`;
}

/**
 * A Nest controller with one route per operation among a module's exports. Written once here, because
 * every operation is served alike: read the input, run it on its bus, put the answer into the envelope.
 */
function controllerOf(exports: object): Type {
  @Controller()
  @Documented(({ ApiBearerAuth }) => [ApiBearerAuth()])
  class OperationsController {
    constructor(
      readonly commands: CommandBus,
      readonly queries: QueryBus,
    ) {}
  }
  Reflect.defineMetadata('design:paramtypes', [CommandBus, QueryBus], OperationsController);

  for (const input of operationsAmong(exports)) addRoute(OperationsController, input);
  return OperationsController;
}

/** What a module of operations consists of: the exports of its `operations.ts` alone. */
export function operationsModule(exports: object): ModuleMetadata {
  const handlers = (Object.values(exports) as unknown[]).filter(
    (value): value is Type =>
      typeof value === 'function' && HANDLERS.some((metadata) => Reflect.hasMetadata(metadata, value)),
  );
  return { controllers: [controllerOf(exports)], providers: handlers };
}

type Buses = { commands: CommandBus; queries: QueryBus };

function addRoute(controller: Type, input: InputClass): void {
  const definition = operationOf(input)!;
  const { method, name, object, list, bodyTypes, answerTypes } = definition;

  async function serve(this: Buses, request: Request, response: Response): Promise<object | undefined> {
    const command = await readInput(input, definition, request, response);
    requireReading(request);
    // Who goes away in the meantime, again and again, would have us work for nobody.
    if (response.destroyed) throw new ClientGone('The client went away.');
    request.isWorkedOn = true;
    try {
      if (bodyTypes || answerTypes) openStream(request, response);
      if (bodyTypes) allowLongBody(request, response);
      if (answerTypes) request.isStream = true;
      const result: unknown = await traced(method === 'GET' ? 'query' : 'command', { operation: name }, () =>
        method === 'GET' ? this.queries.execute(command) : this.commands.execute(command),
      );
      if (answerTypes) {
        await sendStream((result as StreamedAnswer).while(request.requireCaller), request, response);
        return undefined;
      }
      if (request.isGivenUp) throw new ClientGone('The client was answered already.');
      // What a command did is done, and answered.
      if (method === 'GET') requireReading(request);
      countAnswer(request, response);
      if (result instanceof PastRecord) return { data: result.record as object, object, asOf: result.asOf };
      if (!list) return { data: result, object };
      const { records, pagination } = result as Page<unknown>;
      return { data: records, object, pagination };
    } catch (error) {
      throw 'asOf' in command && command.asOf !== undefined ? notFoundThen(error) : error;
    } finally {
      // A client that cannot get rid of the rest of its body would never come to read the answer.
      if (bodyTypes) request.resume();
      request.isWorkedOn = false;
      request.onWorked?.();
    }
  }

  const target = controller.prototype as object;
  Object.defineProperty(target, name, { value: serve, configurable: true, writable: true });
  declareErrors(method, pathOf(definition), () => possibleErrors(input, definition));
  // Guards find the operation by its handler.
  Operation(definition)(serve as unknown as InputClass);
  Req()(target, name, 0);
  // Passed through, the answer is Nest's to send.
  Res({ passthrough: !answerTypes })(target, name, 1);
  const descriptor = Object.getOwnPropertyDescriptor(target, name)!;
  const decorators: MethodDecorator[] = [
    ROUTES[method](pathOf(definition)),
    HttpCode(200),
    Documented((swagger) => operationDocumentation(swagger, input, definition)),
  ];
  for (const decorate of decorators) decorate(target, name, descriptor);
}

async function readInput(
  type: InputClass,
  operation: OperationDefinition,
  request: Request,
  response: Response,
): Promise<Input> {
  const { method, bodyTypes, largestBody } = operation;
  const caller = request.caller!;
  if (method === 'GET') refuseBody(request);
  const body = bodyTypes && streamBody(request, bodyTypes, largestBody);
  const source = method === 'GET' || body ? 'query' : 'body';
  if (source === 'body') refuseQuery(request);
  const raw = source === 'query' ? readQuery(request) : await readJsonBody(request, response);
  const input = parseInput(type, raw, source);

  input.organizationId ??= caller.organizationId;
  if (input.organizationId !== caller.organizationId) {
    throw new RpcError(
      'FORBIDDEN',
      'This API key does not belong to the organization in organizationId. Send the organization of the key, or use a key of that organization.',
    );
  }
  requireFieldScopes(operation, caller.scopes, input);
  const idempotencyKey = method === 'GET' ? undefined : idempotencyKeyOf(request);
  input.context = {
    organizationId: caller.organizationId,
    actor: caller.actor,
    scopes: caller.scopes,
    requestId: request.storedRequestId!,
    isGivenUp: () => request.isGivenUp === true,
    onReplay: () => {
      if (!response.headersSent) response.setHeader('Idempotent-Replayed', 'true');
    },
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  } satisfies RequestContext;
  if (body) {
    const { requireCaller } = request;
    Object.assign(input as StreamedInput, body);
    if (requireCaller) {
      (input as StreamedInput).bytes = whileAllowed(body.bytes, requireCaller);
      const check = nowAndThen(requireCaller);
      // What was read before is not stored after.
      input.context.standing = () => check().then(() => []);
    }
  }
  return input;
}

function idempotencyKeyOf(request: Request): string | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !IDEMPOTENCY_KEY.test(key)) {
    throw invalid([{ path: 'Idempotency-Key', message: 'must have 1 to 255 visible ASCII characters' }]);
  }
  return key;
}
