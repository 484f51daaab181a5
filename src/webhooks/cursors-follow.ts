import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { inTransaction } from '#libs/database';
import { type RecordedEvent } from '#libs/event-store';
import { type Subscription } from '#libs/subscriptions';
import { type WebhookEvent } from './webhook.js';

const LIMITS = { statement: 10_000 };

/** $2: the position of the event; once, however often it is handled. */
const TELL = 'UPDATE webhook_cursors SET told = $2 WHERE webhook_id = $1 AND told < $2';

/**
 * What events of a webhook mean for its row in the operations table, which no event could tell otherwise: where it begins, that it is
 * sent back, that failures of before do not count any more.
 */
@Injectable()
export class WebhookCursorsFollow implements Subscription {
  readonly name = 'webhook-cursors';
  readonly handles = [
    'WebhookCreated',
    'WebhookUpdated',
    'WebhookResumed',
    'WebhookReplayed',
    'WebhookRedelivered',
    'WebhookDeleted',
  ];
  readonly begins = 'at the first event';

  constructor(private readonly source: DataSource) {}

  async handle(recorded: RecordedEvent): Promise<void> {
    const event = recorded as RecordedEvent<WebhookEvent>;
    const { streamId: webhookId, organizationId, position } = event;
    await inTransaction(this.source, LIMITS, async (transaction) => {
      if (event.type === 'WebhookCreated') {
        // Held, so that whoever looks through the log beyond it finds the cursor.
        await transaction.query('SELECT FROM webhook_news FOR UPDATE');
        await transaction.query(
          `INSERT INTO webhook_cursors (webhook_id, organization_id, position, told, news)
           SELECT $1, $2, $3, $3, position FROM webhook_news ON CONFLICT DO NOTHING`,
          [webhookId, organizationId, position],
        );
        return;
      }
      const [, told] = await transaction.query<[unknown, number]>(TELL, [webhookId, position]);
      if (told === 0) return;
      switch (event.type) {
        case 'WebhookResumed':
          await transaction.query(FORGIVE, [webhookId]);
          return;
        case 'WebhookUpdated':
          // Those were failures of another address.
          if (event.data.url !== undefined) await transaction.query(FORGIVE, [webhookId]);
          return;
        case 'WebhookReplayed':
          // What is tried again after it comes with the others.
          void transaction.send('DELETE FROM webhook_retries WHERE webhook_id = $1 AND position > $2', [
            webhookId,
            event.data.after,
          ]);
          // What is not sent yet is not left out.
          await transaction.query(
            `UPDATE webhook_cursors SET position = least(position, $2), held_until = CASE WHEN holder IS NOT NULL THEN held_until END
             WHERE webhook_id = $1`,
            [webhookId, event.data.after],
          );
          return;
        case 'WebhookRedelivered':
          await transaction.query(
            `INSERT INTO webhook_retries (webhook_id, position, event_id, attempts, due_at)
             VALUES ($1, $2, $3, 0, clock_timestamp())
             ON CONFLICT (webhook_id, position) DO UPDATE SET attempts = 0, due_at = clock_timestamp()`,
            [webhookId, event.data.position, event.data.eventId],
          );
          return;
        case 'WebhookDeleted':
          // Its deliveries go when they are 30 days old.
          for (const table of ['webhook_retries', 'webhook_cursors']) {
            void transaction.send(`DELETE FROM ${table} WHERE webhook_id = $1`, [webhookId]);
          }
          return;
        case 'WebhookPaused':
        case 'WebhookDisabled':
        case 'WebhookSecretRotated':
      }
    });
  }
}

const FORGIVE = `
  UPDATE webhook_cursors SET failing_since = NULL, held_until = CASE WHEN holder IS NOT NULL THEN held_until END
  WHERE webhook_id = $1`;
