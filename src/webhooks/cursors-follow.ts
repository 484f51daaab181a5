import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { inTransaction } from '#libs/database';
import { type RecordedEvent } from '#libs/event-store';
import { type Subscription } from '#libs/subscriptions';
import { type WebhookEvent } from './webhook.js';

const LIMITS = { statement: 10_000 };

/** $2: the position of the event. Each event applies only once, even if it is handled again. */
const APPLY_ONCE = 'UPDATE webhook_cursors SET told = $2 WHERE webhook_id = $1 AND told < $2';

/**
 * Applies a webhook's events to its row in the operations table: where delivery begins, replays, and when
 * failures start to count again.
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
        // Locked, so that a runner reading past this position finds the cursor.
        await transaction.query('SELECT FROM webhook_news FOR UPDATE');
        await transaction.query(
          `INSERT INTO webhook_cursors (webhook_id, organization_id, position, told, news)
           SELECT $1, $2, $3, $3, position FROM webhook_news ON CONFLICT DO NOTHING`,
          [webhookId, organizationId, position],
        );
        return;
      }
      const [, applied] = await transaction.query<[unknown, number]>(APPLY_ONCE, [webhookId, position]);
      if (applied === 0) return;
      switch (event.type) {
        case 'WebhookResumed':
          await transaction.query(RESET_FAILURES, [webhookId]);
          return;
        case 'WebhookUpdated':
          // The previous failures belong to another address.
          if (event.data.url !== undefined) await transaction.query(RESET_FAILURES, [webhookId]);
          return;
        case 'WebhookReplayed':
          // Pending retries after the position are covered by the replay.
          void transaction.send('DELETE FROM webhook_retries WHERE webhook_id = $1 AND position > $2', [
            webhookId,
            event.data.after,
          ]);
          // `least` keeps events that are not sent yet.
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
          // Its deliveries are deleted after 30 days.
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

const RESET_FAILURES = `
  UPDATE webhook_cursors SET failing_since = NULL, held_until = CASE WHEN holder IS NOT NULL THEN held_until END
  WHERE webhook_id = $1`;
