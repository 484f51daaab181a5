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
import { type Request, type Response } from 'express';
import { ClientGone, readJsonBody, refuseBody, streamBody } from './body.js';
import { requestContext } from './context.js';
import { declareErrors } from './declared-errors.js';
import { Documented } from './documented.js';
import { RpcError } from './errors.js';
import { entityTag, returnsVersion, withIfMatch } from './expected-version.js';
import { fieldsOf } from './fields.js';
import { type Input, type InputClass, invalid, type StreamedInput } from './input.js';
import { openStream } from './open-streams.js';
import { Operation, type OperationDefinition, operationOf, operationsAmong } from './operation.js';
import { operationDocumentation } from './operation-documentation.js';
import { OperationRunner } from './operation-runner.js';
import { type Page } from './paging.js';
import { PastRecord } from './past.js';
import { preferredRecord } from './preferred-record.js';
import { possibleErrors } from './possible-errors.js';
import { readQuery, refuseQuery } from './query.js';
import { nowAndThen, whileAllowed } from './access-checks.js';
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
 * A Nest controller with one route per operation among a module's exports. It reads the request, runs the operation and puts
 * the result into the envelope.
 */
function controllerOf(exports: object): Type {
  @Controller()
  @Documented(({ ApiBearerAuth }) => [ApiBearerAuth()])
  class OperationsController {
    constructor(readonly runner: OperationRunner) {}
  }
  Reflect.defineMetadata('design:paramtypes', [OperationRunner], OperationsController);

  for (const input of operationsAmong(exports)) addRoute(OperationsController, input);
  return OperationsController;
}

export function operationsModule(exports: object): ModuleMetadata {
  const handlers = (Object.values(exports) as unknown[]).filter(
    (value): value is Type =>
      typeof value === 'function' && HANDLERS.some((metadata) => Reflect.hasMetadata(metadata, value)),
  );
  return { controllers: [controllerOf(exports)], providers: handlers };
}

function addRoute(controller: Type, input: InputClass): void {
  const definition = operationOf(input)!;
  const { method, name, object, list, bodyTypes, answerTypes } = definition;

  async function serve(
    this: { runner: OperationRunner },
    request: Request,
    response: Response,
  ): Promise<object | undefined> {
    const command = await readRequest(this.runner, input, definition, request, response);
    requireReading(request);
    // Otherwise clients that disconnect early, again and again, would keep the server working.
    if (response.destroyed) throw new ClientGone('The client disconnected.');
    request.isWorkedOn = true;
    try {
      if (bodyTypes || answerTypes) openStream(request, response);
      if (bodyTypes) allowLongBody(request, response);
      if (answerTypes) request.isStream = true;
      const result: unknown = await this.runner.execute(command, definition);
      if (answerTypes) {
        await sendStream((result as StreamedAnswer).while(request.requireCaller), request, response);
        return undefined;
      }
      if (request.isGivenUp) throw new ClientGone('The response was already sent.');
      // A command's change is stored, so it is answered anyway.
      if (method === 'GET') requireReading(request);
      countAnswer(request, response);
      const isPast = result instanceof PastRecord;
      const answer: unknown = isPast
        ? result.record
        : await withRecord(this.runner, result, command, request, response);
      const past = isPast ? { asOf: result.asOf } : {};
      // No change can be based on a past record.
      if (!isPast && returnsVersion(definition))
        response.setHeader('ETag', entityTag((answer as { version: number }).version));
      if (!list) return { data: answer, object, ...past };
      const { records, pagination } = answer as Page<unknown>;
      return { data: records, object, pagination, ...past };
    } finally {
      // A client reads the response only after it has sent its whole body.
      if (bodyTypes) request.resume();
      request.isWorkedOn = false;
      request.onWorked?.();
    }
  }

  const target = controller.prototype as object;
  Object.defineProperty(target, name, { value: serve, configurable: true, writable: true });
  declareErrors(method, pathOf(definition), () => possibleErrors(input, definition));
  // Guards find the operation by its route handler.
  Operation(definition)(serve as unknown as InputClass);
  Req()(target, name, 0);
  // With `passthrough`, Nest sends the returned envelope.
  Res({ passthrough: !answerTypes })(target, name, 1);
  const descriptor = Object.getOwnPropertyDescriptor(target, name)!;
  const decorators: MethodDecorator[] = [
    ROUTES[method](pathOf(definition)),
    HttpCode(200),
    Documented((swagger) => operationDocumentation(swagger, input, definition)),
  ];
  for (const decorate of decorators) decorate(target, name, descriptor);
}

/** A create's result, with the fields of the record if the client prefers them. */
async function withRecord(
  runner: OperationRunner,
  result: unknown,
  command: Input,
  request: Request,
  response: Response,
): Promise<unknown> {
  const preferred = preferredRecord(request, operationOf(command.constructor)!);
  if (!preferred) return result;
  const names = fieldsOf(preferred.query);
  const ids = Object.entries(result as object).filter(([name]) => names.has(name));
  const fields = { ...Object.fromEntries(ids), organizationId: command.organizationId };
  const record = await runner
    .run<object>(preferred.query, fields, command.context)
    .catch((error: unknown) => {
      // A repeated request returns the id of a record that was deleted since.
      if (error instanceof RpcError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    });
  if (!record) return result;
  response.setHeader('Preference-Applied', preferred.applied);
  return { ...record, ...(result as object) };
}

async function readRequest(
  runner: OperationRunner,
  type: InputClass,
  operation: OperationDefinition,
  request: Request,
  response: Response,
): Promise<Input> {
  const { method, bodyTypes, isConditional = false } = operation;
  const caller = request.caller!;
  if (method === 'GET') refuseBody(request);
  const body = bodyTypes && streamBody(request, { ...operation, bodyTypes });
  const isInQuery = method === 'GET' || body !== undefined;
  if (!isInQuery) refuseQuery(request);
  const ifMatch = method === 'GET' ? undefined : request.headers['if-match'];
  const given = isInQuery ? readQuery(request) : await readJsonBody(request, response);
  const fields = withIfMatch(given, ifMatch, isConditional);
  const input = runner.read(type, operation, fields, caller);
  const idempotencyKey = method === 'GET' ? undefined : idempotencyKeyOf(request);
  const context = requestContext(caller, request);
  context.onReplay = () => {
    if (!response.headersSent) response.setHeader('Idempotent-Replayed', 'true');
  };
  if (idempotencyKey !== undefined) context.idempotencyKey = idempotencyKey;
  input.context = context;
  if (body) {
    const { requireCaller } = request;
    Object.assign(input as StreamedInput, body);
    if (requireCaller) {
      (input as StreamedInput).bytes = whileAllowed(body.bytes, requireCaller);
      const check = nowAndThen(requireCaller);
      // Bytes read before the key was revoked are not stored after it.
      context.requireAccess = () => check().then(() => []);
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
