import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryWide, ReadSource } from '#libs/database';
import { Input, Integer, isId, malformedCursor, Operation, type Page, recordSchema, Text } from '#libs/rpc';
import { type ContactRecord, contactSchema } from '../contact-record.js';
import { ContactsByIds } from '../contacts-by-ids.js';
import { CONTACTS_TABLE } from '../contacts.projection.js';
import { DUPLICATE_REASONS, type DuplicateReason, sharedBy } from './duplicate-keys.js';

/** Two contacts that may be the same person. */
export type DuplicateRecord = { reasons: DuplicateReason[]; contacts: ContactRecord[] };

/** Contacts that a statement compares, and statements per request. */
const MOST_COMPARED = 10_000;
const MOST_STATEMENTS = 5;

@Operation({
  name: 'contact.list-duplicates',
  summary: 'List contacts that may be duplicates',
  description:
    'Each pair has the older contact first. `reasons` names what they share. `NAME_AND_ZIP`: first ' +
    'name, last name and postcode. `PHONE`: the last eight digits of a phone or mobile number. `EMAIL`: the ' +
    'mailbox of their addresses, such as `ada+news@example.org` and `ada@example.org`. The case of A–Z and ' +
    'spaces in postcodes are ignored. Three contacts that share a value form two ' +
    'pairs: the first and the second, and the second and the third. A request compares a limited number of ' +
    'contacts, so a page may have fewer pairs than `limit`, or none, while `hasMore` is true. To merge a ' +
    'pair, use `contact.merge-contacts`.',
  answers: recordSchema({
    reasons: { type: 'array', items: { type: 'string', enum: DUPLICATE_REASONS } },
    contacts: { type: 'array', items: contactSchema, minItems: 2, maxItems: 2 },
  }),
  list: true,
})
export class ListDuplicates extends Input {
  @Integer({ min: 1, max: 100, default: 25, description: 'Pairs per page.' })
  limit!: number;

  @Text({ max: 1_000, optional: true, description: '`pagination.cursor` of the previous page.' })
  cursor?: string;
}

/** A value of an index and a contact that has it: comparisons begin there. */
type Place = { reason: DuplicateReason; key: string; id: string };
/** `other`: an earlier contact with the same key; null in the row that ends a statement. */
type Row = { key: string; id: string; other: string | null };

/** For each reason, the columns that contain its keys, and a key lower than all others. */
const KEYS: { [reason in DuplicateReason]: { columns: string[]; type: string; first: string } } = {
  NAME_AND_ZIP: { columns: ['name_key'], type: 'bigint', first: String(-(2n ** 63n)) },
  PHONE: { columns: ['phone_key', 'mobile_key'], type: 'integer', first: '0' },
  EMAIL: { columns: ['mailbox'], type: 'text', first: '' },
};
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

function beginningOf(reason: DuplicateReason): Place {
  return { reason, key: KEYS[reason].first, id: FIRST_ID };
}

@QueryHandler(ListDuplicates)
export class ListDuplicatesHandler implements IQueryHandler<ListDuplicates> {
  constructor(
    private readonly reads: ReadSource,
    private readonly contacts: ContactsByIds,
  ) {}

  async execute({ organizationId, limit, cursor }: ListDuplicates): Promise<Page<DuplicateRecord>> {
    let place: Place | undefined = cursor === undefined ? beginningOf('NAME_AND_ZIP') : readCursor(cursor);
    const records: DuplicateRecord[] = [];
    for (let n = 0; place && records.length < limit && n < MOST_STATEMENTS; n += 1) {
      const { reason }: Place = place;
      const most = limit - records.length;
      const values = [organizationId, place.key, place.id, MOST_COMPARED, most];
      const rows: Row[] = await queryWide<Row>(
        this.reads,
        organizationId,
        'page',
        DUPLICATES[reason],
        values,
      );
      const found = rows.filter((row): row is Row & { other: string } => row.other !== null);
      records.push(...(await this.pairs(organizationId, reason, found)));
      const last: Row | undefined =
        found.length === most ? found.at(-1) : rows.find(({ other }) => other === null);
      place = last ? { reason, key: last.key, id: last.id } : next(reason);
    }
    return {
      records,
      pagination: { cursor: place ? writeCursor(place) : null, hasMore: place !== undefined },
    };
  }

  /** Compares the contacts, because several values may have the same key. A pair is proposed for its first reason only. */
  private async pairs(
    organizationId: string,
    reason: DuplicateReason,
    found: readonly { id: string; other: string }[],
  ): Promise<DuplicateRecord[]> {
    const contacts = await this.contacts.find(organizationId, [
      ...new Set(found.flatMap(({ id, other }) => [id, other])),
    ]);
    return found.flatMap(({ id, other }) => {
      const pair = [id, other].toSorted().flatMap((one) => contacts.get(one) ?? []);
      const [one, two] = pair;
      const reasons = one && two ? sharedBy(one, two) : [];
      return reasons[0] === reason ? [{ reasons, contacts: pair }] : [];
    });
  }
}

function next(reason: DuplicateReason): Place | undefined {
  const following = DUPLICATE_REASONS[DUPLICATE_REASONS.indexOf(reason) + 1];
  return following && beginningOf(following);
}

/**
 * SQL: pairs of contacts of organization $1 that follow each other in an index, after the key $2 and the contact $3.
 * Compares $4 contacts, and returns $5 pairs. If more contacts follow, the last row is the last of those compared.
 *
 * @public Its plan is tested.
 */
export const DUPLICATES = Object.fromEntries(
  DUPLICATE_REASONS.map((reason) => [reason, duplicatesBy(reason)]),
) as { [reason in DuplicateReason]: string };

function duplicatesBy(reason: DuplicateReason): string {
  const { columns, type } = KEYS[reason];
  const scans = columns.map(
    (column) => `(SELECT ${column} AS key, id FROM ${CONTACTS_TABLE}
      WHERE organization_id = $1 AND ${column} IS NOT NULL AND (${column}, id) >= ($2::${type}, $3::uuid)
      ORDER BY ${column}, id LIMIT $4)`,
  );
  // The address that is its own mailbox has no key.
  const plain =
    reason === 'EMAIL'
      ? `(SELECT c.id FROM ${CONTACTS_TABLE} c WHERE c.organization_id = $1 AND c.email_compared = page.key LIMIT 1)`
      : 'NULL';
  return `
    WITH page AS MATERIALIZED (
      SELECT key, id FROM (${scans.join(' UNION ALL ')}) AS each ORDER BY key, id LIMIT $4
    ), compared AS (
      SELECT key, id, coalesce(lag(id) OVER (PARTITION BY key ORDER BY id), ${plain}) AS other FROM page
    )
    (SELECT key::text, id, other FROM compared WHERE other <> id AND (key, id) <> ($2::${type}, $3::uuid)
      ORDER BY compared.key, id LIMIT $5)
    UNION ALL
    (SELECT key::text, id, NULL FROM page WHERE (SELECT count(*) FROM page) = $4 ORDER BY page.key DESC, id DESC LIMIT 1)`;
}

function writeCursor({ reason, key, id }: Place): string {
  return Buffer.from(JSON.stringify([reason, key, id])).toString('base64url');
}

function readCursor(cursor: string): Place {
  try {
    const [reason, key, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const known = DUPLICATE_REASONS.find((one) => one === reason);
    if (known && typeof id === 'string' && isId(id) && typeof key === 'string' && isKey(known, key))
      return { reason: known, key, id };
  } catch {
    // Not JSON.
  }
  throw malformedCursor();
}

function isKey(reason: DuplicateReason, key: string): boolean {
  if (reason === 'EMAIL') return key.length <= 300 && !/\p{Cs}|\0/u.test(key);
  if (!/^-?\d{1,19}$/.test(key)) return false;
  const bits = reason === 'PHONE' ? 32 : 64;
  return BigInt.asIntN(bits, BigInt(key)) === BigInt(key);
}
