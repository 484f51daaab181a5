import { ProductModule } from '#libs/modules';
import { BroadcastsModule } from '../broadcasts/index.js';
import { HistoryModule } from '../history/index.js';
import { OrganizationsModule } from '../organizations/index.js';
import { PetitionsModule } from '../petitions/index.js';
import { TeamModule } from '../team/index.js';
import { WebhooksModule } from '../webhooks/index.js';
import { CommentsWaiting } from './comments-waiting.js';
import { notificationSettings } from './notification.js';
import { NotificationMails } from './notification-mails.js';
import { Notifications } from './notify.js';
import { OffLinks } from './off-links.js';
import * as operations from './operations.js';
import { WeeklySummaryClock, WeeklySummaryMail, WeeklySummaries } from './weekly-summary.js';

@ProductModule({
  operations,
  services: { notification: 'Emails to members about what happens in the organization.' },
  streams: [notificationSettings],
  subscriptions: [Notifications, WeeklySummaries],
  timers: [CommentsWaiting, WeeklySummaryClock, WeeklySummaryMail],
  imports: [
    BroadcastsModule,
    HistoryModule,
    OrganizationsModule,
    PetitionsModule,
    TeamModule,
    WebhooksModule,
  ],
  providers: [NotificationMails, OffLinks],
  exports: [OffLinks],
})
export class NotificationsModule {}
