import { type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type Request } from 'express';
import { type IncomingMessage } from 'node:http';
import { requestLog } from '#libs/operations';
import { ErrorFilter, type ErrorCode, replaceUndecodablePath, RpcExpressAdapter } from '#libs/rpc';
import { AppModule } from './app.module.js';
import { type Config } from './config.js';
import { type Runtime } from './runtime.js';

/** The HTTP application, ready to listen. */
export async function createApplication(
  config: Config,
  runtime: Runtime,
  logger: LoggerService,
): Promise<NestExpressApplication> {
  const adapter = new RpcExpressAdapter();
  const app = await NestFactory.create<NestExpressApplication>(
    AppModule.of(runtime, config.redisUrl),
    adapter,
    // Operations read their bodies themselves, after the authentication and the rate limit.
    { logger, bodyParser: false, abortOnError: false },
  );
  app.set('trust proxy', config.trustProxy);
  const isKnown = (path: string) => adapter.allowedMethods(path).length > 0;
  app.use(requestLog(logger, isKnown), replaceUndecodablePath);
  app.useGlobalFilters(new ErrorFilter(docsUrl(config)));
  SwaggerModule.setup('docs', app, describeApi(app), {
    jsonDocumentUrl: '/openapi.json',
    customSiteTitle: 'Advocacy API',
  });
  return app;
}

export function describeApi(app: NestExpressApplication): OpenAPIObject {
  const description =
    'Contacts, petitions, posts and lists of organizations, as an event-sourced RPC API. POST creates or updates, GET reads, DELETE ' +
    'removes; every operation is idempotent. Errors are explained at the address in `error.docs`.';
  return SwaggerModule.createDocument(
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
}

const HOST = /^[a-z0-9._-]+(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/i;

/** The address of a code's explanation on this server, as its client reaches it. */
export function docsUrl({ publicUrl, port }: Config): (code: ErrorCode, request?: IncomingMessage) => string {
  return (code, request) => {
    if (publicUrl) return `${publicUrl}/errors/${code}`;
    const { host = '' } = request?.headers ?? {};
    const protocol = (request as Request | undefined)?.protocol ?? 'http';
    const local = `http://localhost:${request?.socket.localPort ?? port}`;
    return `${HOST.test(host) ? `${protocol}://${host}` : local}/errors/${code}`;
  };
}
