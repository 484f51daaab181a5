import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type DataSource } from 'typeorm';
import { inTransaction, type Transaction } from '#libs/database';
import { type Projection, type Projections } from '#libs/projections';
import { isEmailAddress, isId } from '#libs/rpc';
import { type ChosenBy, type ChosenContact, chosenContacts, contactsProjection } from '../contacts/index.js';
import { lists } from '../lists/index.js';
import { petitions } from '../petitions/index.js';
import { type Suppressions, suppressionsProjection } from '../suppressions/index.js';
import { type Audience } from './broadcast.js';

/** Why people who are named by an audience are not written to. Each is counted once, by the first that holds. */
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
  /** Who is meant follows from the events up to here. */
  position: number;
  digest: string;
};

/** The read models that an audience is taken from. */
const READ_MODELS: readonly Projection[] = [
  contactsProjection,
  lists.projection,
  petitions.projection,
  suppressionsProjection,
];
const LIMITS = { statement: 60_000, isSnapshot: true };
const MOST_ATTEMPTS = 100;
const PAUSE_MS = 20;

/** A read model has come further than another, and what lies between concerns the organization. */
class Uneven extends Error {}

/**
 * Finds out whom an audience means, as of one position of the log: in one snapshot of the read models, and once more where one of them
 * lacked something by then that another had.
 *
 * @param keep given those who are meant, page by page, in the order of their ids, inside of the transaction.
 */
export async function reachOf(
  source: DataSource,
  projections: Projections,
  suppressions: Suppressions,
  organizationId: string,
  audience: Audience,
  keep: (contactIds: readonly string[], transaction: Transaction) => Promise<void> = () => Promise.resolve(),
): Promise<Reach> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inTransaction(source, LIMITS, async (transaction) => {
        const position = await positionOf(transaction, organizationId);
        const excluded = Object.fromEntries(EXCLUSIONS.map((one) => [one, 0])) as Reach['excluded'];
        const digest = createHash('sha256');
        let total = 0;
        for await (const page of chosenContacts(transaction, organizationId, choiceOf(audience))) {
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
          if (meant.length > 0) await keep(meant, transaction);
        }
        return { total, excluded, position, digest: digest.digest('hex') };
      });
    } catch (error) {
      if (!(error instanceof Uneven) || attempt === MOST_ATTEMPTS) throw error;
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

/** What is no id names nobody. */
function choiceOf({ filter = {}, ...audience }: Audience): Parameters<typeof chosenContacts>[2] {
  const linked = (listIds: string[] = [], petitionIds: string[] = []): ChosenBy[] =>
    [
      { linkTable: lists.linkTable!, recordIds: listIds.filter(isId) },
      { linkTable: petitions.linkTable!, recordIds: petitionIds.filter(isId) },
    ].filter(({ recordIds }) => recordIds.length > 0);
  return {
    links: linked(audience.listIds, audience.petitionIds),
    contactIds: (audience.contactIds ?? []).filter(isId),
    without: linked(audience.excludeListIds, audience.excludePetitionIds),
    filter,
  };
}

/**
 * Up to where the read models of this snapshot know the organization's history.
 *
 * @throws Uneven where that is not one position for all of them.
 */
async function positionOf(transaction: Transaction, organizationId: string): Promise<number> {
  const rows = await transaction.query<{ projection: string; position: string }[]>(
    `SELECT projection, position FROM checkpoints
     WHERE (projection, version) IN (SELECT * FROM unnest($1::text[], $2::int[]))`,
    [READ_MODELS.map(({ name }) => name), READ_MODELS.map(({ version }) => version)],
  );
  const position = Math.max(...rows.map((row) => Number(row.position)));
  for (const row of rows) {
    if (Number(row.position) === position) continue;
    const { handles } = READ_MODELS.find(({ name }) => name === row.projection)!;
    const lacking = await transaction.query<unknown[]>(
      `SELECT FROM events WHERE organization_id = $1 AND position > $2 AND position <= $3 AND type = ANY ($4::text[]) LIMIT 1`,
      [organizationId, row.position, position, handles],
    );
    if (lacking.length > 0) throw new Uneven();
  }
  return position;
}

/** See `BroadcastStarted`: of the ids of those who had to get it, in their order, each in a line of its own. */
export function digestOfRecipients(contactIds: readonly string[]): string {
  const lines = contactIds.toSorted().map((id) => `${id}\n`);
  return createHash('sha256').update(lines.join('')).digest('hex');
}
