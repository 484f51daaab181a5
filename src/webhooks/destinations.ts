import { lookup as resolve, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Everything of IPv4 that is not an address somewhere on the Internet (RFC 6890 and its successors, IANA's registry). */
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Not in the registry: Azure's own, by which each of its machines asks for its configuration.
  '168.63.129.16/32',
  // Where clouds keep the credentials of their machines.
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** The addresses of IPv6 that are given out; all else is local, or another form of an address of IPv4. */
const GIVEN_OUT = '2000::/3';
/** Within these: special uses (Teredo among them), documentation, and addresses of IPv4 (6to4). */
const NOT_PUBLIC_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const notPublic = blockListOf('ipv4', NOT_PUBLIC);
const notPublic6 = blockListOf('ipv6', NOT_PUBLIC_6);
const givenOut = blockListOf('ipv6', [GIVEN_OUT]);

function blockListOf(family: 'ipv4' | 'ipv6', subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address, bits] = subnet.split('/');
    list.addSubnet(address!, Number(bits), family);
  }
  return list;
}

/** Whether an address is one on the Internet, and none of a network that this machine may be in. */
export function isPublic(address: string): boolean {
  // With a zone it is local, and no block list reads it.
  if (address.includes('%')) return false;
  switch (isIP(address)) {
    case 4:
      return !notPublic.check(address, 'ipv4');
    case 6:
      return givenOut.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6');
    default:
      return false;
  }
}

/** What a connection fails with that would have gone where nothing may be delivered to. */
export class MayNotBeDeliveredTo extends Error {
  constructor() {
    super('Delivery to this address is not allowed.');
  }
}

/**
 * Where webhooks may be delivered to. What a name means is decided once, by whoever connects: a look-up before could be
 * answered otherwise than the one of the connection.
 */
export class Destinations {
  /**
   * @param allowsPrivate for development: everything, by http too.
   * @param resolver of names; the machine's.
   */
  constructor(
    readonly allowsPrivate: boolean,
    private readonly resolver: typeof resolve = resolve,
  ) {}

  /** The address that a text means; undefined where nothing may be delivered to it, whatever its name is resolved to. */
  read(text: string): URL | undefined {
    let url: URL;
    try {
      // Also turns decimal, octal and hexadecimal forms into the usual one.
      url = new URL(text);
    } catch {
      return undefined;
    }
    if (url.protocol !== 'https:' && !(this.allowsPrivate && url.protocol === 'http:')) return undefined;
    if (url.hostname === '' || url.username !== '' || url.password !== '') return undefined;
    return this.allowsLiteral(url) ? url : undefined;
  }

  /** For a connection, which asks it for names alone: of addresses `read` has decided. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const isAll = options.all === true;
    this.resolver(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, '');
      // One that is private spoils all: which of them is connected to is not ours to say.
      const isAllowed = this.allowsPrivate || addresses.every(({ address }) => isPublic(address));
      if (addresses.length === 0 || !isAllowed) return callback(new MayNotBeDeliveredTo(), '');
      if (isAll) callback(null, addresses);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };

  private allowsLiteral({ hostname }: URL): boolean {
    if (this.allowsPrivate) return true;
    const bare = hostname.replace(/^\[|\]$/g, '');
    return isIP(bare) === 0 ? !/^(.+\.)?localhost\.?$/.test(bare) : isPublic(bare);
  }
}
