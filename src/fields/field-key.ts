import { slugOf } from '#libs/resources';

const LONGEST_KEY = 50;
/** The key for a name without a letter that keys can have. */
const UNNAMED = 'field';

/**
 * Names that mean something else in a contact, or in a file with contacts. A field with one of these keys would be
 * indistinguishable from it.
 */
const RESERVED = new Set(
  `id createdAt updatedAt organizationId contactId email emails firstName lastName name bio phone mobile address zip
   city region country subscribed status consent consentTime consentIp consentSource optOut importProblem bounced complained
   comment customFields fields externalId externalIds tags tagIds lists listIds signatures petitions segments
   constructor prototype toString valueOf hasOwnProperty`.split(/\s+/),
);

/** A key of `[a-z][a-zA-Z0-9]*`, like `shoeSize` for "Shoe size". */
export function keyOf(name: string): string {
  const spaced = name.replaceAll('_', ' ').replace(/([a-z\d])([A-Z])/g, '$1 $2');
  const words = (slugOf(spaced) ?? '').split('-').filter((word) => word !== '');
  const key = words
    .map((word, n) => (n === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('')
    .slice(0, LONGEST_KEY);
  if (key === '') return UNNAMED;
  return /^[a-z]/.test(key) ? key : `${UNNAMED}${key}`.slice(0, LONGEST_KEY);
}

/** The keys that a field with this name can get, the best first. @param most their number. */
export function keysFor(name: string, most: number): string[] {
  const key = keyOf(name);
  const keys = [key, ...Array.from({ length: most }, (_, n) => `${key}${n + 2}`)];
  return keys.filter((one) => !RESERVED.has(one)).slice(0, most);
}
