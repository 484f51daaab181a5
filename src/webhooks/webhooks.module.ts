import { ProductModule } from '#libs/modules';
import { WebhookCursorsFollow } from './cursors-follow.js';
import { WebhookCursors } from './cursors.js';
import { Deliveries } from './deliveries.js';
import { WebhookDisabledMail } from './disabled-mail.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { WebhookRequests } from './webhook-requests.js';
import { WebhookSender } from './webhook-sender.js';
import { webhooks } from './webhooks.js';

@ProductModule({
  operations,
  services: { webhook: 'Events sent to your own server as they happen.' },
  reasons,
  resources: [webhooks],
  subscriptions: [WebhookCursorsFollow, WebhookDisabledMail],
  background: [WebhookSender],
  providers: [Deliveries, WebhookCursors, WebhookRequests],
})
export class WebhooksModule {}
