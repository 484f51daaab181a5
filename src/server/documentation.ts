import { type NestExpressApplication } from '@nestjs/platform-express';
import * as swagger from '@nestjs/swagger';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type Express, type Request, type Response } from 'express';
import { documentRoutes, errorExamples, errorSchemas, RpcExpressAdapter } from '#libs/rpc';
import { ROLES, scopesOf } from '../team/index.js';

/**
 * The documentation pages and the OpenAPI document. They are a separate application, because routes cannot be added to one
 * that already listens. `application.ts` loads it at the first request.
 */
export function documentationOf(app: NestExpressApplication): Express {
  const pages = new RpcExpressAdapter();
  const document = describeApi(app);
  // SwaggerModule uses only these parts of an application.
  const host = { getHttpAdapter: () => pages, useStaticAssets: pages.useStaticAssets.bind(pages) };
  // SwaggerModule would serialize the document for every request (20 ms as YAML), so we serve a cached copy below.
  SwaggerModule.setup('docs', host as unknown as NestExpressApplication, document, {
    raw: false,
    customSiteTitle: 'Advocacy API',
  });
  const json = Buffer.from(JSON.stringify(document));
  pages.get('/openapi.json', (_request: Request, response: Response) => response.type('json').send(json));
  return pages.getInstance();
}

function describeApi(app: NestExpressApplication): OpenAPIObject {
  const description =
    'Manage contacts, petitions, posts, lists, tags, segments, custom fields, suppressions and broadcasts with this event-sourced RPC API. GET reads, ' +
    'POST creates or updates, and DELETE removes. Every operation is idempotent. `error.docs` links to an explanation of each error.\n\n' +
    `Each role grants these scopes:\n\n| Role | Scopes |\n| --- | --- |\n${ROLES.map(
      (role) =>
        `| ${role} | ${scopesOf(role)
          .map((scope) => `\`${scope}\``)
          .join(', ')} |`,
    ).join('\n')}`;
  documentRoutes(swagger);
  const document = SwaggerModule.createDocument(
    app,
    new DocumentBuilder()
      .setTitle('Advocacy API')
      .setDescription(description)
      .setVersion('v1')
      // The first version with `type: [string, null]`.
      .setOpenAPIVersion('3.1.0')
      .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'API key', description: 'adv_…' })
      .build(),
    { autoTagControllers: false },
  );
  // All operations refer to these, because they have most errors in common.
  Object.assign((document.components!.schemas ??= {}), errorSchemas());
  document.components!.examples = errorExamples();
  return document;
}
