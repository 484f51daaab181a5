import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { type DataSource } from 'typeorm';
import { CommandsModule } from '#libs/commands';
import { type ReadSource, type ReservedConnections, type TroubleLog } from '#libs/database';
import { type EventStore } from '#libs/event-store';
import {
  DatabaseWatch,
  HealthAccess,
  HealthController,
  Readiness,
  RequestCounts,
  SelfCheckStatus,
  WitnessStatus,
} from '#libs/operations';
import { type Projections } from '#libs/projections';
import { RateLimitModule } from '#libs/rate-limit';
import { ResourcesModule } from '#libs/resources';
import { RpcModule } from '#libs/rpc';
import { Checkpoints, Sealer } from '#libs/sealing';
import { Subscriptions } from '#libs/subscriptions';
import { ORGANIZATION_RATE_LIMIT } from './auth/index.js';
import { type Config } from './config.js';
import { Cosigning } from './cosigning/index.js';
import { MODULES } from './modules.js';

/** What every module of the product stands on. */
type Foundation = {
  source: DataSource;
  reads: ReadSource;
  reserved: ReservedConnections;
  store: EventStore;
  projections: Projections;
  sealer: Sealer;
  selfCheck: SelfCheckStatus;
  cosigning: Cosigning;
  checkpoints: Checkpoints;
  subscriptions: Subscriptions;
  troubles: TroubleLog;
};

@Module({ controllers: [HealthController] })
export class AppModule {
  static of(
    { source, reads, reserved, store, projections, troubles, ...foundation }: Foundation,
    {
      redisUrl,
      healthToken,
      organizationRateLimit,
    }: Pick<Config, 'redisUrl' | 'healthToken' | 'organizationRateLimit'>,
  ): DynamicModule {
    const { sealer, selfCheck, cosigning, checkpoints, subscriptions } = foundation;
    const forModules = [
      { provide: Checkpoints, useValue: checkpoints },
      { provide: Cosigning, useValue: cosigning },
      { provide: ORGANIZATION_RATE_LIMIT, useValue: organizationRateLimit },
    ];
    return {
      module: AppModule,
      global: true,
      providers: [
        { provide: HealthAccess, useValue: new HealthAccess(healthToken) },
        Readiness,
        RequestCounts,
        DatabaseWatch,
        { provide: Sealer, useValue: sealer },
        { provide: SelfCheckStatus, useValue: selfCheck },
        { provide: WitnessStatus, useValue: cosigning },
        { provide: Subscriptions, useValue: subscriptions },
        ...forModules,
      ],
      exports: forModules.map(({ provide }) => provide),
      imports: [
        CqrsModule.forRoot(),
        CommandsModule.of(source, reads, reserved, store, projections, troubles),
        ResourcesModule,
        RateLimitModule.forRoot(redisUrl === undefined ? {} : { redisUrl }),
        ...MODULES,
        RpcModule,
      ],
    };
  }
}
