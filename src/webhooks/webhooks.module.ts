import { ProductModule } from '#libs/modules';
import { ContactsModule } from '../contacts/index.js';
import { WebhookCursorsFollow } from './cursors-follow.js';
import { WebhookCursors } from './cursors.js';
import { Deliveries } from './deliveries.js';
import { WebhookDisabledMail } from './disabled-mail.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { webhookExpansion } from './webhook-expansion.js';
import { WebhookExpansions } from './webhook-expansions.js';
import { WebhookRequests } from './webhook-requests.js';
import { WebhookSender } from './webhook-sender.js';
import { webhooks } from './webhooks.js';

@ProductModule({
  operations,
  services: { webhook: 'Events sent to your own server as they happen.' },
  reasons,
  imports: [ContactsModule],
  resources: [webhooks],
  streams: [webhookExpansion],
  subscriptions: [WebhookCursorsFollow, WebhookDisabledMail],
  background: [WebhookSender],
  providers: [Deliveries, WebhookCursors, WebhookExpansions, WebhookRequests],
})
export class WebhooksModule {}
