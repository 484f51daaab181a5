import { lookup as resolve, type LookupAddress } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** All IPv4 ranges that are not public Internet addresses (RFC 6890 and its successors, IANA's registry). */
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Not in the registry. Azure's machines read their configuration from this address.
  '168.63.129.16/32',
  // Clouds provide the credentials of their machines at these addresses.
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

/** The allocated IPv6 addresses. All others are local, or another form of an IPv4 address. */
const ALLOCATED = '2000::/3';
/** Exceptions within these: special uses (including Teredo), documentation, and IPv4 addresses (6to4). */
const NOT_PUBLIC_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const notPublic = blockListOf('ipv4', NOT_PUBLIC);
const notPublic6 = blockListOf('ipv6', NOT_PUBLIC_6);
const allocatedRange = blockListOf('ipv6', [ALLOCATED]);

function blockListOf(family: 'ipv4' | 'ipv6', subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [address, bits] = subnet.split('/');
    list.addSubnet(address!, Number(bits), family);
  }
  return list;
}

/** Whether an address is on the public Internet, and not in a network of this machine. */
export function isPublic(address: string): boolean {
  // An address with a zone is local, and block lists cannot parse it.
  if (address.includes('%')) return false;
  switch (isIP(address)) {
    case 4:
      return !notPublic.check(address, 'ipv4');
    case 6:
      return allocatedRange.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6');
    default:
      return false;
  }
}

export class DestinationNotAllowed extends Error {
  constructor() {
    super('Delivery to this address is not allowed.');
  }
}

/**
 * Decides where webhooks can be delivered. A host name is resolved and checked when connecting: an earlier
 * lookup could return another address.
 */
export class Destinations {
  /**
   * @param allowsPrivate for development: allows every address, even over http.
   * @param resolver resolves names; the machine's by default.
   */
  constructor(
    readonly allowsPrivate: boolean,
    private readonly resolver: typeof resolve = resolve,
  ) {}

  /** The URL of a text; undefined if delivery to it is never allowed, whatever its name resolves to. */
  read(text: string): URL | undefined {
    let url: URL;
    try {
      // `URL` also normalizes decimal, octal and hexadecimal forms.
      url = new URL(text);
    } catch {
      return undefined;
    }
    if (url.protocol !== 'https:' && !(this.allowsPrivate && url.protocol === 'http:')) return undefined;
    if (url.hostname === '' || url.username !== '' || url.password !== '') return undefined;
    return this.allowsLiteral(url) ? url : undefined;
  }

  /** Resolves the names of connections. Addresses are not resolved; `read` has already checked them. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const isAll = options.all === true;
    this.resolver(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
      if (error) return callback(error, '');
      // A name with one private address is rejected, because we do not control which address is used.
      const isAllowed = this.allowsPrivate || addresses.every(({ address }) => isPublic(address));
      if (addresses.length === 0 || !isAllowed) return callback(new DestinationNotAllowed(), '');
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
