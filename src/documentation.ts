import { type NestExpressApplication } from '@nestjs/platform-express';
import * as swagger from '@nestjs/swagger';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type Express, type Request, type Response } from 'express';
import { documentRoutes, errorExamples, errorSchemas, RpcExpressAdapter } from '#libs/rpc';
import { ROLES, scopesOf } from './team/index.js';

/**
 * The pages of the documentation, and the document: an application of its own, because nothing can be added to the routes of
 * one that listens. Loaded by `server.ts` for the first who asks.
 */
export function documentationOf(app: NestExpressApplication): Express {
  const pages = new RpcExpressAdapter();
  const document = describeApi(app);
  // All that SwaggerModule asks of an application.
  const host = { getHttpAdapter: () => pages, useStaticAssets: pages.useStaticAssets.bind(pages) };
  // Not the document, which SwaggerModule writes anew for each who asks: as YAML in 20 ms, and asks for no key.
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
    'Contacts, petitions, posts, lists, tags and suppressions of organizations, as an event-sourced RPC API. POST creates or ' +
    'updates, GET reads, DELETE removes; every operation is idempotent. Errors are explained at the address in `error.docs`.\n\n' +
    `What the people of an organization may do, by their roles:\n\n| Role | Scopes |\n| --- | --- |\n${ROLES.map(
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
      // The first that knows `type: [string, null]`.
      .setOpenAPIVersion('3.1.0')
      .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'API key', description: 'adv_…' })
      .build(),
    { autoTagControllers: false },
  );
  // Once for all operations: they say the same of most errors.
  Object.assign((document.components!.schemas ??= {}), errorSchemas);
  document.components!.examples = errorExamples;
  return document;
}
