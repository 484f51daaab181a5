import { MOST_VALUE_BYTES } from '../fields/index.js';
import { CONTACT_DETAILS, type ContactDetails, type CustomValues } from './contact.js';

/**
 * How the projection stores a detail. Details that are not searched, sorted or filtered are encrypted with the
 * person's key.
 */
type DetailColumn = { index?: boolean; sealed?: boolean };

const DETAILS: { readonly [detail in keyof ContactDetails]: DetailColumn } = {
  email: {},
  firstName: {},
  lastName: {},
  bio: { sealed: true },
  phone: { sealed: true },
  mobile: { sealed: true },
  address: { sealed: true },
  // The order in which the indexes are created. Without statistics, PostgreSQL considers the indexes of country
  // and city equal and uses the later one.
  country: { index: true },
  region: { index: true },
  city: { index: true },
  zip: { index: true },
};

/** Named like the fields: "firstName" is first_name, "bio" is sealed_bio. */
export const DETAIL_COLUMNS = CONTACT_DETAILS.map((detail) => {
  const { sealed = false } = DETAILS[detail];
  const name = detail.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { detail, column: sealed ? `sealed_${name}` : name, sealed };
});
export const SEALED_COLUMNS = DETAIL_COLUMNS.filter(({ sealed }) => sealed).map(({ column }) => column);
export const PLAIN_COLUMNS = [
  ...DETAIL_COLUMNS.filter(({ sealed }) => !sealed).map(({ column }) => column),
  'email_compared',
];
/** The indexed columns. Their indexes ignore case. */
export const INDEXED_COLUMNS = Object.entries(DETAILS).flatMap(([column, { index }]) =>
  index ? [column] : [],
);

const NAME = `(coalesce(first_name || ' ', '') || coalesce(last_name, ''))`;
/**
 * The expressions that `q` searches. The last name is separate, because short texts match only at the
 * beginning.
 */
export const SEARCHED = ['email', NAME, 'last_name'];

/** SQL: bytes of a row, for `findRows`. */
export const CONTACT_BYTES = [
  ...DETAIL_COLUMNS.map(({ column }) => `octet_length(${column})`),
  // As stored, because their size as text would require reading them.
  'pg_column_size(external_ids)',
  'pg_column_size(custom_fields)',
]
  .map((size) => `coalesce(${size}, 0)`)
  .join(' + ');

export const MOST_EXTERNAL_IDS = 10;
export const LONGEST_EXTERNAL_ID = 200;

/**
 * The largest row, in bytes: a biography of 10,000 characters, ten other texts of up to 500, the external ids
 * (ASCII), the custom values, and the overhead of encryption. 26 of them fit into 2 MiB, so `findRows` needs no window
 * functions for pages of the default length.
 */
export const WIDEST_CONTACT =
  4 * (10_000 + 10 * 500) + MOST_EXTERNAL_IDS * LONGEST_EXTERNAL_ID + MOST_VALUE_BYTES + 1_000;

/** The context under which a detail is encrypted. */
export const sealedAs = (detail: keyof ContactDetails) => `contact.${detail}`;

/** A row of the projection, or its copy in a snapshot. */
export type Row = { [column: string]: unknown };
export type Open = (name: string, sealed: unknown) => string;

/** External ids and custom values are null in a row without any. */
export function extrasOf(row: Row): { externalIds: string[]; customFields: CustomValues } {
  return {
    externalIds: (row.external_ids as string[] | null) ?? [],
    customFields: (row.custom_fields as CustomValues | null) ?? {},
  };
}

/** @param open undefined if nothing is encrypted, or if the contact was erased since the row was read. */
export function detailsOf(row: Row, open?: Open): ContactDetails {
  const plain = (value: unknown) => value as string | null;
  const opened = (detail: keyof ContactDetails, sealed: unknown) =>
    sealed === null ? null : (open?.(sealedAs(detail), sealed) ?? null);
  // Written out: pages spend most of their time here, and a loop over the columns took four times as long.
  return {
    email: plain(row.email),
    firstName: plain(row.first_name),
    lastName: plain(row.last_name),
    bio: opened('bio', row.sealed_bio),
    phone: opened('phone', row.sealed_phone),
    mobile: opened('mobile', row.sealed_mobile),
    address: opened('address', row.sealed_address),
    zip: plain(row.zip),
    city: plain(row.city),
    region: plain(row.region),
    country: plain(row.country),
  };
}
