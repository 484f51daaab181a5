import './deliveries.js';
import { ProductModule } from '#libs/modules';
import { ConfirmationsModule } from '../confirmations/index.js';
import { FieldsModule } from '../fields/index.js';
import { ContactsModule } from '../contacts/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { PetitionsModule } from '../petitions/index.js';
import { SuppressionsModule } from '../suppressions/index.js';
import { BroadcastFigures } from './broadcast-figures.js';
import { broadcastShapes } from './broadcast.js';
import { broadcasts } from './broadcasts.js';
import { ClickController } from './click.controller.js';
import { Clicks } from './clicks.js';
import { FinishBroadcastHandler } from './finish-broadcast.js';
import { MessageBuilder } from './message-builder.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { PreviewReaders } from './preview-readers.js';
import { ReachableContacts } from './reachable-contacts.js';
import { Recipients } from './recipients.js';
import { BroadcastReports } from './reports.js';
import { BroadcastSchedules, BroadcastStart, StartScheduledHandler } from './schedule.js';
import { BroadcastSender } from './sender.js';
import { SignLinks } from './sign-links.js';
import { Starts } from './starts.js';
import { TestMails } from './test-mails.js';
import { ThankYouLetters } from './thank-you-letters.js';
import { ThankYouSender } from './thank-you-sender.js';
import { UnsavedPreviews } from './unsaved-previews.js';

@ProductModule({
  operations,
  services: {
    broadcast: 'Emails to many contacts: write, preview and send them, and follow their delivery.',
  },
  reasons,
  resources: [broadcasts],
  upcasters: broadcastShapes,
  subscriptions: [BroadcastSchedules, BroadcastReports, ThankYouSender],
  timers: [BroadcastStart],
  background: [BroadcastSender],
  imports: [
    ConfirmationsModule,
    ContactsModule,
    FieldsModule,
    OrganizationsModule,
    PetitionsModule,
    SuppressionsModule,
  ],
  controllers: [ClickController],
  providers: [
    BroadcastFigures,
    Clicks,
    FinishBroadcastHandler,
    MessageBuilder,
    PreviewReaders,
    ReachableContacts,
    Recipients,
    SignLinks,
    StartScheduledHandler,
    Starts,
    TestMails,
    ThankYouLetters,
    UnsavedPreviews,
  ],
  exports: [Recipients, BroadcastFigures, SignLinks, Starts],
})
export class BroadcastsModule {}
