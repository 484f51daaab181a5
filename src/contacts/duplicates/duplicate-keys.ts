import { createHash } from 'node:crypto';
import { canonicalEmail } from '../canonical-email.js';
import { type ContactDetails } from '../contact.js';
import { comparableEmail } from '#libs/rpc';

/** Why two contacts may be the same person, in the order in which pairs are proposed. */
export const DUPLICATE_REASONS = ['NAME_AND_ZIP', 'PHONE', 'EMAIL'] as const;
export type DuplicateReason = (typeof DUPLICATE_REASONS)[number];

/** Digits of a phone number that are compared: the country code and leading zeros are often omitted. */
const COMPARED_DIGITS = 8;
/** Shorter texts are extensions or mistakes. */
const FEWEST_DIGITS = 6;

/** The end of a phone number; null if it is too short to identify anyone. */
function comparablePhone(phone: string): string | null {
  const digits = phone.replace(/\D/g, '');
  return digits.length < FEWEST_DIGITS ? null : digits.slice(-COMPARED_DIGITS);
}

/**
 * A number that equal phone numbers share. Phone numbers are stored encrypted, so it has only 24 bits: several
 * numbers have each value, and the contacts themselves are compared afterwards.
 */
export function phoneKey(phone: string): number | null {
  const comparable = comparablePhone(phone);
  return comparable === null ? null : createHash('sha256').update(comparable).digest().readUIntBE(0, 3);
}

/** The mailbox behind an address; null if the address is already in this form. */
export function otherMailbox(email: string): string | null {
  const mailbox = canonicalEmail(email);
  return mailbox === comparableEmail(email) ? null : mailbox;
}

/** What two contacts have in common. */
export function sharedBy(one: ContactDetails, other: ContactDetails): DuplicateReason[] {
  return DUPLICATE_REASONS.filter((reason) => {
    const values = valuesOf(one, reason);
    return valuesOf(other, reason).some((value) => values.includes(value));
  });
}

function valuesOf(details: ContactDetails, reason: DuplicateReason): string[] {
  const { firstName, lastName, zip, phone, mobile, email } = details;
  switch (reason) {
    case 'NAME_AND_ZIP':
      if (firstName === null || lastName === null || zip === null) return [];
      return [
        JSON.stringify([firstName, lastName, zip.replaceAll(' ', '')].map((text) => text.toLowerCase())),
      ];
    case 'PHONE':
      return [phone, mobile].flatMap((number) => (number === null ? [] : (comparablePhone(number) ?? [])));
    case 'EMAIL':
      return email === null ? [] : [canonicalEmail(email)];
  }
}
