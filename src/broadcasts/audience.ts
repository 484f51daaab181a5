import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { inTransaction, type Transaction } from '#libs/database';
import { NewerEvent } from '#libs/event-store';
import { type Projection, type Projections } from '#libs/projections';
import { isEmailAddress, isId } from '#libs/rpc';
import {
  type ChosenBy,
  type ChosenContact,
  chosenContacts,
  contactsProjection,
  filterProjections,
  kindsOfContacts,
} from '../contacts/index.js';
import { type Suppressions, suppressionsProjection } from '../suppressions/index.js';
import { type Audience, audienceFields, broadcastShapes } from './broadcast.js';

/** Why selected contacts receive nothing. Each is counted once, by the first reason that applies. */
export const EXCLUSIONS = [
  'duplicate',
  'unknown',
  'excluded',
  'filtered',
  'unsubscribed',
  'withoutAddress',
  'suppressed',
] as const;
export type Exclusion = (typeof EXCLUSIONS)[number];

export type Reach = {
  total: number;
  excluded: Record<Exclusion, number>;
  /** The position in the log that decides the recipients. */
  position: number;
  digest: string;
};

type Selection = {
  /** From which `inLast` of segments counts back. Default: now. */
  moment?: Date;
  /** Receives the selected contacts page by page, in order of their ids, inside the transaction. */
  keep?: (contactIds: readonly string[], transaction: Transaction) => Promise<void>;
};

/** The projections that select an audience. */
const selectingProjections = (): readonly Projection[] => [
  ...new Set([
    contactsProjection,
    ...kindsOfContacts().map(({ projection }) => projection),
    ...filterProjections(),
    suppressionsProjection,
  ]),
];
const LIMITS = { statement: 60_000, isSnapshot: true };
const MAX_ATTEMPTS = 100;
const PAUSE_MS = 20;

/** The projections are at different positions, and an event in between concerns the organization. */
class PositionsDiffer extends Error {}

/**
 * Selects an audience as of one position in the log, in one snapshot of all projections. Retries if a
 * projection lacks an event that another one has.
 */
export async function reachOf(
  source: DataSource,
  projections: Projections,
  suppressions: Suppressions,
  organizationId: string,
  audience: Audience,
  { moment, keep }: Selection = {},
): Promise<Reach> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inTransaction(source, LIMITS, async (transaction) => {
        const position = await positionOf(transaction, organizationId);
        const excluded = Object.fromEntries(EXCLUSIONS.map((one) => [one, 0])) as Reach['excluded'];
        const digest = createHash('sha256');
        let total = 0;
        for await (const page of chosenContacts(transaction, organizationId, choiceOf(audience), moment)) {
          const emails = page.flatMap(({ email }) => (email === null ? [] : [email]));
          const suppressed = await suppressions.areSuppressed(organizationId, emails, transaction);
          const meant: string[] = [];
          for (const contact of page) {
            excluded.duplicate += contact.times - 1;
            const exclusion = exclusionOf(contact, suppressed);
            if (exclusion) excluded[exclusion] += 1;
            else meant.push(contact.id);
          }
          for (const id of meant) digest.update(`${id}\n`);
          total += meant.length;
          if (meant.length > 0) await keep?.(meant, transaction);
        }
        return { total, excluded, position, digest: digest.digest('hex') };
      });
    } catch (error) {
      if (!(error instanceof PositionsDiffer) || attempt === MAX_ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
      await projections.catchUpWithLog();
    }
  }
}

function exclusionOf(contact: ChosenContact, suppressed: ReadonlySet<string>): Exclusion | undefined {
  const { email } = contact;
  if (!contact.isKnown) return 'unknown';
  if (contact.isExcluded) return 'excluded';
  if (contact.isFiltered) return 'filtered';
  if (!contact.isSubscribed) return 'unsubscribed';
  if (email === null || !isEmailAddress(email)) return 'withoutAddress';
  return suppressed.has(email) ? 'suppressed' : undefined;
}

/**
 * Invalid ids are ignored.
 *
 * @throws NewerEvent for a kind of records that this version does not know: without it, the wrong people would get the email.
 */
function choiceOf(audience: Audience): Parameters<typeof chosenContacts>[2] {
  const fields = kindsOfContacts().flatMap(({ object }) => Object.values(audienceFields(object)));
  const known = new Set<string>(['all', 'filter', 'contactIds', ...fields]);
  if (Object.keys(audience).some((field) => !known.has(field)))
    throw new NewerEvent('BroadcastCreated', broadcastShapes.BroadcastCreated!.reads.length + 1);
  const records = (which: 'chosen' | 'excluded'): ChosenBy[] =>
    kindsOfContacts().flatMap((resource) => {
      const recordIds = (audience[audienceFields(resource.object)[which]] ?? []).filter(isId);
      return recordIds.length > 0 ? [{ resource, recordIds }] : [];
    });
  return {
    all: audience.all === true,
    records: records('chosen'),
    contactIds: (audience.contactIds ?? []).filter(isId),
    without: records('excluded'),
    filter: audience.filter ?? {},
  };
}

/**
 * The position up to which the projections of this snapshot know the organization's history.
 *
 * @throws PositionsDiffer if the projections differ.
 */
async function positionOf(transaction: Transaction, organizationId: string): Promise<number> {
  const projections = selectingProjections();
  const rows = await transaction.query<{ projection: string; position: string }[]>(
    `SELECT projection, position FROM checkpoints
     WHERE (projection, version) IN (SELECT * FROM unnest($1::text[], $2::int[]))`,
    [projections.map(({ name }) => name), projections.map(({ version }) => version)],
  );
  const position = Math.max(...rows.map((row) => Number(row.position)));
  for (const row of rows) {
    if (Number(row.position) === position) continue;
    const { handles } = projections.find(({ name }) => name === row.projection)!;
    const lacking = await transaction.query<unknown[]>(
      `SELECT FROM events WHERE organization_id = $1 AND position > $2 AND position <= $3 AND type = ANY ($4::text[]) LIMIT 1`,
      [organizationId, row.position, position, handles],
    );
    if (lacking.length > 0) throw new PositionsDiffer();
  }
  return position;
}

/** The digest in `BroadcastStarted`: SHA-256 of the sorted recipient ids, one per line. */
export function digestOfRecipients(contactIds: readonly string[]): string {
  const lines = contactIds.toSorted().map((id) => `${id}\n`);
  return createHash('sha256').update(lines.join('')).digest('hex');
}
