import { isIPv4, isIPv6 } from 'node:net';
import { type JsonObject, type Keyring } from '#libs/event-store';

/**
 * Prefix lengths, in bits, at which addresses are stored. Other lengths are searched as several networks of
 * the next one.
 */
const LEVELS = { 4: [8, 16, 24, 32], 6: [32, 40, 48, 56, 64, 128] } as const;
const BITS = { 4: 32, 6: 128 } as const;
/** Maximum networks searched for one range: adjacent levels differ by at most 8 bits, except 64 and 128. */
const MAX_NETWORKS = 256;
/** Characters of a keyed hash: 72 bits, to tell the networks of one petition apart. */
const LENGTH = 12;

type Version = 4 | 6;

/** The personal data of a signature from a page. null: none. */
export function signedBy(
  keyring: Pick<Keyring, 'hash'>,
  { comment = null, clientAddress }: { comment?: string | null; clientAddress: string | null },
): JsonObject | null {
  const clientNetworks = clientAddress === null ? null : networksOf(keyring, clientAddress);
  const known = Object.entries({ comment, clientAddress, clientNetworks }).filter(
    ([, value]) => value !== null,
  );
  return known.length > 0 ? Object.fromEntries(known) : null;
}

/**
 * Returns the networks that contain an address, as keyed hashes. Signatures from a network can be found, but
 * the projections alone do not reveal the address.
 */
export function networksOf(keyring: Pick<Keyring, 'hash'>, address: string): string[] {
  const version = versionOf(address);
  if (!version) return [];
  const bits = bitsOf(address, version);
  return LEVELS[version].map((length) =>
    hashOf(keyring, version, length, bits >> BigInt(BITS[version] - length)),
  );
}

/**
 * The stored networks that make up an address range, to compare with `networksOf`; undefined if the range is
 * not supported.
 */
export function networksIn(keyring: Pick<Keyring, 'hash'>, range: string): string[] | undefined {
  const [address = '', suffix, ...more] = range.split('/');
  const version = versionOf(address);
  if (!version || more.length > 0 || (suffix !== undefined && !/^\d{1,3}$/.test(suffix))) return undefined;
  const length = suffix === undefined ? BITS[version] : Number(suffix);
  const level = LEVELS[version].find((one) => one >= length);
  if (level === undefined || 2 ** (level - length) > MAX_NETWORKS || length < LEVELS[version][0] - 8)
    return undefined;
  const first = (bitsOf(address, version) >> BigInt(BITS[version] - length)) << BigInt(level - length);
  return Array.from({ length: 2 ** (level - length) }, (_, n) =>
    hashOf(keyring, version, level, first + BigInt(n)),
  );
}

function versionOf(address: string): Version | undefined {
  if (isIPv4(address)) return 4;
  return isIPv6(address) && !address.includes('%') ? 6 : undefined;
}

function bitsOf(address: string, version: Version): bigint {
  if (version === 4)
    return address.split('.').reduce((bits, part) => (bits << 8n) | BigInt(Number(part)), 0n);
  // URLs write addresses in their shortest notation, without dots.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const [before, after] = [groups(head), groups(tail)];
  const all = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
  return all.reduce((bits, group) => (bits << 16n) | BigInt(parseInt(group, 16)), 0n);
}

function hashOf(keyring: Pick<Keyring, 'hash'>, version: Version, length: number, network: bigint): string {
  const name = `${version}/${length} ${network.toString(16)}`;
  return keyring.hash('client network', name).toString('base64url').slice(0, LENGTH);
}
