import { declareEventTypes, modulesAmong, partsOf } from '#libs/modules';
import { declareOperations, declareReasons, declareScopes } from '#libs/rpc';
import { AuthModule } from './auth/index.js';
import * as kinds from './kinds.js';
import { BroadcastsModule } from './broadcasts/index.js';
import { ContactsModule } from './contacts/index.js';
import { ImportJobsModule } from './contacts/import/jobs/index.js';
import { HistoryModule } from './history/index.js';
import { ImagesModule } from './images/index.js';
import { ListsModule } from './lists/index.js';
import { DraftsModule } from './drafts/index.js';
import { NotesModule } from './notes/index.js';
import { NotificationsModule } from './notifications/index.js';
import { OrganizationsModule } from './organizations/index.js';
import { PetitionsModule } from './petitions/index.js';
import { FormsModule } from './forms/index.js';
import { PostsModule } from './posts/index.js';
import { SuppressionsModule } from './suppressions/index.js';
import { TagsModule } from './tags/index.js';
import { SegmentsModule } from './segments/index.js';
import { SiteModule } from './site/index.js';
import { TeamModule } from './team/index.js';
import { FieldsModule } from './fields/index.js';
import { DashboardModule } from './dashboard/index.js';
import { ViewsModule } from './views/index.js';
import { WebhooksModule } from './webhooks/index.js';
import { UnsubscribeModule } from './unsubscribe/index.js';

/**
 * The modules of the monolith, with everything that they provide. Add a new one at the end, because the order
 * of the scopes is part of what makes a repeated request the same.
 */
export const MODULES = [
  ContactsModule,
  PetitionsModule,
  PostsModule,
  ListsModule,
  OrganizationsModule,
  AuthModule,
  HistoryModule,
  TagsModule,
  WebhooksModule,
  SuppressionsModule,
  BroadcastsModule,
  UnsubscribeModule,
  ImagesModule,
  TeamModule,
  ImportJobsModule,
  FieldsModule,
  DashboardModule,
  SegmentsModule,
  ...modulesAmong(kinds),
  FormsModule,
  ViewsModule,
  NotesModule,
  NotificationsModule,
  DraftsModule,
  // Its routes match any path, so it must come last.
  SiteModule,
];

const { reasons, ...parts } = partsOf(MODULES);
export const {
  operations,
  services,
  projections,
  streams,
  replayables,
  subscriptions,
  timers,
  background,
  upcasters,
} = parts;

declareReasons(reasons);
declareOperations(operations);
declareScopes(operations);
declareEventTypes(streams);
