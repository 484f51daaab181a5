import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { join } from 'node:path';
import { CommandsModule } from '#libs/commands';
import { Mailer } from '#libs/mail';
import { DatabaseMonitor, RequestCounts } from '#libs/operations';
import { RateLimitModule } from '#libs/rate-limit';
import { ResourcesModule } from '#libs/resources';
import { RpcModule } from '#libs/rpc';
import { Checkpoints, Sealer } from '#libs/sealing';
import { Storage } from '#libs/storage';
import { Subscriptions } from '#libs/subscriptions';
import { CORS_ORIGINS, ORGANIZATION_RATE_LIMIT } from '../auth/index.js';
import { BROADCAST_RECIPIENT_DAYS } from '../broadcasts/index.js';
import { type Config, PublicAddress } from '../config/index.js';
import { Cosigning } from '../audit/index.js';
import { MODULES } from '../modules.js';
import { SelfCheck } from '../self-check/index.js';
import { CAPTCHA } from '../site/index.js';
import { Destinations } from '../webhooks/index.js';
import { HomeController } from './home.controller.js';
import { HealthAccess, HealthController, Readiness } from './health.controller.js';
import { VerifierKeyController } from './verifier-key.controller.js';
import { type Runtime } from './runtime.js';

@Module({ controllers: [HealthController, HomeController, VerifierKeyController] })
export class AppModule {
  static of(
    { source, reads, reserved, store, projections, incidents, ...foundation }: Runtime,
    config: Config,
  ): DynamicModule {
    const {
      redisUrl,
      healthToken,
      organizationRateLimit,
      webhookAllowPrivate,
      publicUrl,
      port,
      mailUrl,
      site,
      captcha,
      corsOrigins,
      broadcastRecipientDays,
    } = config;
    const { sealer, selfCheck, cosigning, checkpoints, subscriptions } = foundation;
    // A server that writes emails to files is only being tried out, so the guessed address is good enough.
    const isKnown = publicUrl !== undefined || mailUrl === undefined;
    const publicAddress = new PublicAddress(publicUrl ?? `http://localhost:${port}`, isKnown, site);
    const forModules = [
      { provide: PublicAddress, useValue: publicAddress },
      { provide: Subscriptions, useValue: subscriptions },
      { provide: Checkpoints, useValue: checkpoints },
      { provide: Cosigning, useValue: cosigning },
      // Created by factories, so that Nest closes them with the application.
      { provide: Mailer, useFactory: () => mailerOf(config) },
      { provide: Storage, useFactory: () => foundation.storage() },
      { provide: ORGANIZATION_RATE_LIMIT, useValue: organizationRateLimit },
      { provide: CAPTCHA, useValue: captcha },
      { provide: CORS_ORIGINS, useValue: corsOrigins },
      { provide: BROADCAST_RECIPIENT_DAYS, useValue: broadcastRecipientDays },
      { provide: Destinations, useValue: new Destinations(webhookAllowPrivate) },
    ];
    return {
      module: AppModule,
      global: true,
      providers: [
        { provide: HealthAccess, useValue: new HealthAccess(healthToken) },
        Readiness,
        RequestCounts,
        DatabaseMonitor,
        { provide: Sealer, useValue: sealer },
        { provide: SelfCheck, useValue: selfCheck },
        ...forModules,
      ],
      exports: [...forModules.map(({ provide }) => provide), RequestCounts, DatabaseMonitor],
      imports: [
        CqrsModule.forRoot(),
        CommandsModule.of(source, reads, reserved, store, projections, incidents),
        ResourcesModule,
        RateLimitModule.forRoot(redisUrl === undefined ? {} : { redisUrl }),
        ...MODULES,
        RpcModule,
      ],
    };
  }
}

function mailerOf(config: Config): Mailer {
  return new Mailer(
    {
      url: config.mailUrl,
      directory: join(config.dataDirectory, 'mail'),
      from: config.mailFrom,
      host: config.publicUrl && new URL(config.publicUrl).hostname,
      concurrency: config.mailConcurrency,
      rate: config.mailRate,
      redisUrl: config.redisUrl,
    },
    new Logger('Mail'),
  );
}
