import { type NestExpressApplication } from '@nestjs/platform-express';
import * as swagger from '@nestjs/swagger';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type RequestHandler } from 'express';
import {
  documentRoutes,
  errorContent,
  errorExamples,
  findOperation,
  inputSchema,
  readerOf,
  returnsVersion,
  shared,
  sharedSchemas,
} from '#libs/rpc';
import { programVersion } from '../environment/index.js';
import { services } from '../modules.js';
import { FormFieldInput, formSchema } from '../petitions/index.js';
import { ROLES, scopesOf } from '../team/index.js';
import { describeEvents } from './described-events.js';
import { docsSite } from './docs-site.js';
import { nameOf, nameSchemas } from './named-schemas.js';

/** Routes that are not operations, by tag. */
const ROUTES = {
  health: 'For load balancers and monitoring.',
  log: 'The public log of the audit log, for monitors and witnesses.',
  hooks: 'Reports by your mail provider about bounces and complaints.',
};

const text = { type: 'string' } as const;
const integer = { type: 'integer', minimum: 0 } as const;
const HEADERS = {
  'X-Request-Id': { schema: text, description: 'Identifies the request in logs. Yours, if you sent one.' },
  'RateLimit-Limit': { schema: integer, description: 'The tightest limit, in requests per second.' },
  'RateLimit-Remaining': { schema: integer, description: 'Remaining requests within it.' },
  'RateLimit-Reset': { schema: integer, description: 'Seconds until it resets.' },
  RateLimit: {
    schema: text,
    description:
      'The remaining requests within the tightest limit, and the seconds until it resets: `"KEY_RATE";r=9;t=1`.',
  },
  'RateLimit-Policy': {
    schema: text,
    description:
      'The tightest limit: its requests and seconds. Its name is the reason of the error beyond it: `"KEY_RATE";q=10;w=1`.',
  },
  'Retry-After': { schema: integer, description: 'Seconds to wait before the request is repeated.' },
  'Idempotent-Replayed': {
    schema: { ...text, enum: ['true'] as string[] },
    description:
      'Only if the response is that of an earlier request with the same Idempotency-Key or the same body, so this one changed nothing.',
  },
  ETag: {
    schema: text,
    description:
      "The record's version. Send it as `If-Match`, so that someone else's later change is not overwritten.",
  },
  'Preference-Applied': {
    schema: text,
    description: 'The preference of the header `Prefer` that the response follows: `return=record`.',
  },
  Allow: { schema: text, description: 'The methods of this address.' },
} as const;
const METHOD_NOT_ALLOWED = {
  ...errorContent({ status: 405, codes: ['METHOD_NOT_ALLOWED'], reasons: [] }),
  headers: { Allow: { $ref: '#/components/headers/Allow' } },
};

/** Without names, generators would give items of `form.fields` and of `formFields` the same one. */
const FORM_SCHEMAS = {
  FormField: formSchema.properties!.fields!.items!,
  FormFieldInput: inputSchema(FormFieldInput),
};

/**
 * Serves the documentation pages and the OpenAPI document. Routes cannot be added to an application that already listens, so
 * `application.ts` calls it at the first request.
 */
export function documentationOf(app: NestExpressApplication, publicUrl: string | undefined): RequestHandler {
  const json = Buffer.from(JSON.stringify(describeApi(app, publicUrl)));
  const pages = docsSite();
  return (request, response, next) => {
    if (request.path !== '/openapi.json') return pages(request, response, next);
    const { headers, body } = shared(request, { 'Content-Type': 'application/json; charset=utf-8' }, json);
    response.set(headers).send(body);
  };
}

function describeApi(app: NestExpressApplication, publicUrl: string | undefined): OpenAPIObject {
  const description =
    'Manage contacts, petitions, posts, lists, tags, segments, custom fields, views, suppressions and broadcasts with this event-sourced RPC API. GET reads, ' +
    'POST creates or updates, and DELETE removes. Every operation is safe to repeat; `webhook.rotate-secret` and `webhook.replay-webhook` need an `Idempotency-Key` for that. `error.docs` links to an explanation of each error.\n\n' +
    `Each role grants these scopes:\n\n| Role | Scopes |\n| --- | --- |\n${ROLES.map(
      (role) =>
        `| ${role} | ${scopesOf(role)
          .map((scope) => `\`${scope}\``)
          .join(', ')} |`,
    ).join('\n')}`;
  documentRoutes(swagger);
  const about = new DocumentBuilder()
    .setTitle('Advocacy API')
    .setDescription(description)
    .setVersion(programVersion())
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer(publicUrl ?? '/')
    // The first version with `type: [string, null]`.
    .setOpenAPIVersion('3.1.0')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'API key', description: 'adv_…' });
  for (const [service, purpose] of Object.entries({ ...services, ...ROUTES })) about.addTag(service, purpose);
  const document = SwaggerModule.createDocument(app, about.build(), { autoTagControllers: false });
  // Otherwise the order would depend on which file imports which.
  const order = [...Object.keys(ROUTES), ...Object.keys(services)];
  const placeOf = (path: string) => order.indexOf(path.split(/[/.]/)[2] ?? '');
  document.paths = Object.fromEntries(
    Object.entries(document.paths).toSorted(
      ([one], [other]) => placeOf(one) - placeOf(other) || (one < other ? -1 : 1),
    ),
  );
  document.info.contact = { name: 'The operator of this server', ...(publicUrl && { url: publicUrl }) };
  document.components!.examples = errorExamples();
  document.components!.headers = { ...HEADERS };
  document.components!.responses = { MethodNotAllowed: METHOD_NOT_ALLOWED };
  for (const methods of Object.values(document.paths))
    for (const operation of Object.values(methods as Record<string, OperationObject>)) {
      // What every route has in common.
      operation.responses['405'] = { $ref: '#/components/responses/MethodNotAllowed' };
      operation.security ??= [];
    }
  for (const operation of operationsOf(document)) {
    describeHeaders(operation);
    describeFiles(operation);
  }
  nameOperations(document);
  nameSchemas(document, { ...sharedSchemas, ...FORM_SCHEMAS });
  describeEvents(document);
  return document;
}

type OperationObject = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Described = { method: string; path: string; operation: OperationObject };

/** The operations of the API, which all have the same headers. */
function operationsOf({ paths }: OpenAPIObject): Described[] {
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, OperationObject>).map(([method, operation]) => ({
        method,
        path: path.slice('/v1/'.length),
        operation,
      })),
    );
}

/** A file is sent as the body, with the other fields in the query, or in a form, with all of its fields. */
function describeFiles({ operation }: Described): void {
  const { content } = (operation.requestBody ?? {}) as { content?: Record<string, { schema: object }> };
  if (!content?.['multipart/form-data']) return;
  const file = { type: 'string', format: 'binary' };
  const fields = (operation.parameters as { in: string; name: string; schema: object }[]).filter(
    ({ in: place, name }) => place === 'query' && name !== 'organizationId',
  );
  const properties = { file, ...Object.fromEntries(fields.map(({ name, schema }) => [name, schema])) };
  for (const type of Object.keys(content))
    content[type] = {
      schema: type === 'multipart/form-data' ? { type: 'object', properties, required: ['file'] } : file,
    };
}

function describeHeaders({ method, path, operation }: Described): void {
  const definition = findOperation(path)!;
  for (const [status, response] of Object.entries(operation.responses)) {
    if ('$ref' in response!) continue;
    const names = Object.keys(HEADERS).filter((name) => {
      if (name === 'Allow') return false;
      if (name === 'Retry-After') return ['429', '503'].includes(status);
      if (name === 'ETag') return status === '412' || (status === '200' && returnsVersion(definition));
      if (name === 'Preference-Applied') return status === '200' && readerOf(definition) !== undefined;
      if (name === 'Idempotent-Replayed') return method !== 'get' && status === '200';
      return name === 'X-Request-Id' || !['401', '500', '503'].includes(status);
    });
    (response as { headers?: object }).headers = Object.fromEntries(
      names.map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    );
  }
}

/** `contact.get-contact` is `getContact`. Two services with the same method also have their name: `listAddContacts`. */
function nameOperations(document: OpenAPIObject): void {
  const operations = operationsOf(document);
  const methodOf = (path: string) => path.split('.')[1]!;
  const methods = operations.map(({ path }) => methodOf(path));
  for (const { path, operation } of operations) {
    const isUnique = methods.filter((method) => method === methodOf(path)).length === 1;
    const name = nameOf(isUnique ? methodOf(path) : path.replace('.', '-'));
    operation.operationId = name.charAt(0).toLowerCase() + name.slice(1);
  }
}
