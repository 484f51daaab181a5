import { Injectable } from '@nestjs/common';
import { RecordReader } from '#libs/commands';
import { type RecordedEvent } from '#libs/event-store';
import { Resources } from '#libs/resources';
import { ContactsByIds } from '../contacts/index.js';
import { petitions } from '../petitions/index.js';
import { type ExpandedKind, expansionId, webhookExpansion } from './webhook-expansion.js';
import { exists, webhook } from './webhook.js';

/** The records of an event, by their kind. null: the event names none, or it no longer exists. */
export type ExpandedRecords = { [kind in ExpandedKind]?: { id: string } | null };

type Target = { organizationId: string; webhookId: string };
/** The part of an event that contains the ids of its records. */
type Named = Pick<RecordedEvent, 'streamType' | 'streamId' | 'data'>;

/** The records that webhooks deliver next to events. */
@Injectable()
export class WebhookExpansions {
  constructor(
    private readonly records: RecordReader,
    private readonly resources: Resources,
    private readonly contacts: ContactsByIds,
  ) {}

  /**
   * The records that the webhook delivers with these events, in the order of the events.
   *
   * @param url where they are about to be sent. If it is not the webhook's address any more, no records are sent there.
   */
  async recordsOf(
    { organizationId, webhookId }: Target,
    url: string,
    events: readonly Named[],
  ): Promise<ExpandedRecords[]> {
    const kinds = await this.kindsFor({ organizationId, webhookId }, url);
    const expanded = await Promise.all(
      kinds.map(async (kind) => {
        const ids = events.map((event) => idIn(event, kind));
        const records = await this.find(organizationId, kind, [
          ...new Set(ids.filter((id) => id !== undefined)),
        ]);
        return [kind, ids.map((id) => (id === undefined ? null : (records.get(id) ?? null)))] as const;
      }),
    );
    return events.map((_, n) => Object.fromEntries(expanded.map(([kind, records]) => [kind, records[n]])));
  }

  /** The kinds that were chosen for this address. Someone without access to the records may have set another one. */
  private async kindsFor(
    { organizationId, webhookId }: Target,
    url: string,
  ): Promise<readonly ExpandedKind[]> {
    const load = async () => {
      const { state } = await this.records.load(webhookExpansion, organizationId, expansionId(webhookId));
      return state.expand;
    };
    if ((await load()).length === 0) return [];
    const before = await this.records.load(webhook, organizationId, webhookId);
    const kinds = await load();
    // Each change of either is a new version of the webhook.
    const after = await this.records.load(webhook, organizationId, webhookId);
    return before.version === after.version && exists(after.state) && after.state.url === url ? kinds : [];
  }

  /** As `contact.get-contact` and `petition.get-petition` return them, without those that no longer exist. */
  private async find(
    organizationId: string,
    kind: ExpandedKind,
    ids: readonly string[],
  ): Promise<Map<string, { id: string }>> {
    if (kind === 'contact') return this.contacts.find(organizationId, ids);
    const found = await Promise.all(
      ids.map(async (id) => {
        const record = await this.resources.findAt(petitions, organizationId, id);
        return record && ([id, await this.resources.complete(petitions, organizationId, record)] as const);
      }),
    );
    return new Map(found.filter((one) => one !== undefined));
  }
}

/** The record of this kind that the event belongs to or names. */
function idIn({ streamType, streamId, data }: Named, kind: ExpandedKind): string | undefined {
  if (streamType === kind) return streamId;
  const id = (data as { [field: string]: unknown } | null)?.[`${kind}Id`];
  return typeof id === 'string' ? id : undefined;
}
