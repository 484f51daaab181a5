import { CONTACT_DETAILS, type ContactDetails } from './contact.js';

/** How the read model holds a detail. What nobody searches, sorts or filters by is sealed: only who has the person's key can read it. */
type DetailColumn = { index?: boolean; sealed?: boolean };

const DETAILS: { readonly [detail in keyof ContactDetails]: DetailColumn } = {
  email: {},
  firstName: {},
  lastName: {},
  bio: { sealed: true },
  phone: { sealed: true },
  mobile: { sealed: true },
  address: { sealed: true },
  // In the order in which the indexes are made: without statistics PostgreSQL guesses one as good as the other, and of country
  // and city takes the later.
  country: { index: true },
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
export const INDEXED_COLUMNS = Object.entries(DETAILS).flatMap(([column, { index }]) =>
  index ? [column] : [],
);

/** The two names in one, as they are searched for. */
const NAME = `(coalesce(first_name || ' ', '') || coalesce(last_name, ''))`;
/** What `q` is searched in. A last name besides, because short texts are found where something begins with them. */
export const SEARCHED = ['email', NAME, 'last_name'];

/** SQL: bytes of a row, for `findRows`. */
export const CONTACT_BYTES = DETAIL_COLUMNS.map(({ column }) => `coalesce(octet_length(${column}), 0)`).join(
  ' + ',
);

/** Of a row, in bytes: a biography of 10,000 characters, nine other texts of 500 at most, and what sealing adds. */
export const WIDEST_CONTACT = 4 * (10_000 + 9 * 500) + 1_000;

/** The name under which a detail is sealed. */
export const sealedAs = (detail: keyof ContactDetails) => `contact.${detail}`;

/** A row of the read model, or what a snapshot says of one. */
export type Row = { [column: string]: unknown };
export type Open = (name: string, sealed: unknown) => string;

/** @param open undefined where nothing is sealed, and for who was erased since the row was read. */
export function detailsOf(row: Row, open?: Open): ContactDetails {
  const plain = (value: unknown) => value as string | null;
  const opened = (detail: keyof ContactDetails, sealed: unknown) =>
    sealed === null ? null : (open?.(sealedAs(detail), sealed) ?? null);
  // Written out: a loop over the columns took four times as long, which pages are made of.
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
    country: plain(row.country),
  };
}
