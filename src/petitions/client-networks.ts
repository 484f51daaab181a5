import { isIPv4, isIPv6 } from 'node:net';
import { type Keyring } from '#libs/event-store';

/** Bits of the networks by which an address is found again; what lies between is several of the next. */
const LEVELS = { 4: [8, 16, 24, 32], 6: [32, 40, 48, 56, 64, 128] } as const;
const BITS = { 4: 32, 6: 128 } as const;
/** Networks of the next level that stand for one: between two of them lie eight bits at most, but for 64 and 128. */
const MOST_NETWORKS = 256;
/** Characters of a keyed hash: 72 bits, of networks under one petition. */
const LENGTH = 12;

type Version = 4 | 6;

/**
 * The networks that an address is in, as keyed hashes: so that signatures from a network can be found, and nobody reads an address
 * who has the read models alone.
 */
export function networksOf(keyring: Pick<Keyring, 'hash'>, address: string): string[] {
  const version = versionOf(address);
  if (!version) return [];
  const bits = bitsOf(address, version);
  return LEVELS[version].map((length) =>
    hashOf(keyring, version, length, bits >> BigInt(BITS[version] - length)),
  );
}

/** The networks that a range of addresses is made of, to compare with `networksOf`; undefined where it is no such range. */
export function networksIn(keyring: Pick<Keyring, 'hash'>, range: string): string[] | undefined {
  const [address = '', suffix, ...more] = range.split('/');
  const version = versionOf(address);
  if (!version || more.length > 0 || (suffix !== undefined && !/^\d{1,3}$/.test(suffix))) return undefined;
  const length = suffix === undefined ? BITS[version] : Number(suffix);
  const level = LEVELS[version].find((one) => one >= length);
  if (level === undefined || 2 ** (level - length) > MOST_NETWORKS || length < LEVELS[version][0] - 8)
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
  // As URLs write it: in its shortest form, without dots.
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
