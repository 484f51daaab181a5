import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { type DataSource } from 'typeorm';
import { CommandsModule } from '#libs/commands';
import { type ReadSource, type ReservedConnections, type TroubleLog } from '#libs/database';
import { type EventStore, type Upcasters } from '#libs/event-store';
import {
  DatabaseWatch,
  HealthAccess,
  HealthController,
  Readiness,
  RequestCounts,
  SelfCheckStatus,
  WitnessStatus,
} from '#libs/operations';
import { type Projection, type Projections, type Replayable } from '#libs/projections';
import { RateLimitModule } from '#libs/rate-limit';
import { RpcModule } from '#libs/rpc';
import { type Checkpoints, Sealer } from '#libs/sealing';
import { apiKey, apiKeysProjection, AuthModule, replayableApiKeys } from './auth/index.js';
import { type Config } from './config.js';
import { contact, contactsProjection, ContactsModule, replayableContacts } from './contacts/index.js';
import { type Cosigning } from './cosigning/index.js';
import { historyAccess, HistoryModule, historyReads, signingKey } from './history/index.js';
import { list, ListsModule, listsProjection, membership, replayableLists } from './lists/index.js';
import {
  organization,
  OrganizationsModule,
  organizationsProjection,
  publicLog,
  publicLogsProjection,
  replayableOrganization,
} from './organizations/index.js';
import {
  petition,
  PetitionsModule,
  petitionsProjection,
  replayablePetitions,
  signature,
} from './petitions/index.js';
import { post, PostsModule, postsProjection, replayablePosts } from './posts/index.js';

/** All read models of the product. */
export const projections: readonly Projection[] = [
  apiKeysProjection,
  contactsProjection,
  listsProjection,
  organizationsProjection,
  petitionsProjection,
  postsProjection,
  publicLogsProjection,
];

/** What has or will have another shape than the first, and types that are read but not written yet: nothing so far. */
export const upcasters: Upcasters = {};

/** All streams there are, and the types of events that this version of the program knows in them. */
export const streams: readonly { streamType: string; events: { readonly [type: string]: true } }[] = [
  apiKey,
  contact,
  historyAccess,
  historyReads,
  list,
  membership,
  organization,
  petition,
  post,
  publicLog,
  signature,
  signingKey,
];

/** All records that can be rebuilt from an exported history. */
export const replayables: readonly Replayable[] = [
  replayableOrganization,
  replayableApiKeys,
  replayableContacts,
  replayableLists,
  replayablePetitions,
  replayablePosts,
];

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
  troubles: TroubleLog;
};

@Module({ controllers: [HealthController] })
export class AppModule {
  static of(
    foundation: Foundation,
    {
      redisUrl,
      healthToken,
      organizationRateLimit,
    }: Pick<Config, 'redisUrl' | 'healthToken' | 'organizationRateLimit'>,
  ): DynamicModule {
    const {
      source,
      reads,
      reserved,
      store,
      projections,
      sealer,
      selfCheck,
      cosigning,
      checkpoints,
      troubles,
    } = foundation;
    return {
      module: AppModule,
      providers: [
        { provide: HealthAccess, useValue: new HealthAccess(healthToken) },
        Readiness,
        RequestCounts,
        DatabaseWatch,
        { provide: Sealer, useValue: sealer },
        { provide: SelfCheckStatus, useValue: selfCheck },
        { provide: WitnessStatus, useValue: cosigning },
      ],
      imports: [
        CqrsModule.forRoot(),
        CommandsModule.of(source, reads, reserved, store, projections, troubles),
        RateLimitModule.forRoot(redisUrl === undefined ? {} : { redisUrl }),
        AuthModule.of(organizationRateLimit),
        OrganizationsModule,
        ContactsModule,
        ListsModule,
        PetitionsModule,
        PostsModule,
        HistoryModule.of(checkpoints, cosigning),
        RpcModule,
      ],
    };
  }
}
