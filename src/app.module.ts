import { type DynamicModule, Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { type DataSource } from 'typeorm';
import { CommandsModule } from '#libs/commands';
import { type ReservedConnections } from '#libs/database';
import { type EventStore, type Upcasters } from '#libs/event-store';
import { HealthAccess, HealthController, Readiness } from '#libs/operations';
import { type Projection, type Projections, type Replayable } from '#libs/projections';
import { RateLimitModule } from '#libs/rate-limit';
import { RpcModule } from '#libs/rpc';
import { type Sealer, type Signer } from '#libs/sealing';
import { apiKeysProjection, AuthModule, replayableApiKeys } from './auth/index.js';
import { type Config } from './config.js';
import { contactsProjection, ContactsModule, replayableContacts } from './contacts/index.js';
import { HistoryModule } from './history/index.js';
import { ListsModule, listsProjection, replayableLists } from './lists/index.js';
import {
  OrganizationsModule,
  organizationsProjection,
  replayableOrganization,
} from './organizations/index.js';
import { PetitionsModule, petitionsProjection, replayablePetitions } from './petitions/index.js';
import { PostsModule, postsProjection, replayablePosts } from './posts/index.js';

/** All read models of the product. */
export const projections: readonly Projection[] = [
  apiKeysProjection,
  contactsProjection,
  listsProjection,
  organizationsProjection,
  petitionsProjection,
  postsProjection,
];

/** How old shapes of events are read: none has a second one yet. */
export const upcasters: Upcasters = {};

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
  reserved: ReservedConnections;
  store: EventStore;
  projections: Projections;
  sealer: Sealer;
  signer: Signer;
};

@Module({ controllers: [HealthController] })
export class AppModule {
  static of(
    { source, reserved, store, projections, sealer, signer }: Foundation,
    {
      redisUrl,
      healthToken,
      organizationRateLimit,
    }: Pick<Config, 'redisUrl' | 'healthToken' | 'organizationRateLimit'>,
  ): DynamicModule {
    return {
      module: AppModule,
      providers: [{ provide: HealthAccess, useValue: new HealthAccess(healthToken) }, Readiness],
      imports: [
        CqrsModule.forRoot(),
        CommandsModule.of(source, reserved, store, projections),
        RateLimitModule.forRoot(redisUrl === undefined ? {} : { redisUrl }),
        AuthModule.of(organizationRateLimit),
        OrganizationsModule,
        ContactsModule,
        ListsModule,
        PetitionsModule,
        PostsModule,
        HistoryModule.of(sealer, signer),
        RpcModule,
      ],
    };
  }
}
