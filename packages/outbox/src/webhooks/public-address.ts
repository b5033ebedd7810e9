import ipaddr from 'ipaddr.js';
import dns, { type LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';

/** The error for an address that a webhook may not use. */
export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';

  constructor(host: string) {
    super(`${host} is no public address`);
  }
}

/** The error if no name server accepts a query. The receiver has not failed. */
export class NameServersDown extends Error {
  override readonly name = 'NameServersDown';

  constructor(host: string, options: ErrorOptions) {
    super(`no name server accepts queries, so ${host} could not be resolved`, options);
  }
}

/** The IPv6 addresses that IANA assigns for global unicast (RFC 4291, section 2.4). All others lead elsewhere. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * True for an address on the public internet. Private, loopback, link-local (such as cloud metadata), shared,
 * multicast and reserved addresses are not. Nor are IPv6 addresses that contain an IPv4 address, such as those of NAT64,
 * or `::127.0.0.1`.
 */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv6' && !parsed.match(GLOBAL_IPV6)) return false;
  return parsed.range() === 'unicast';
}

/** Says why a webhook cannot use a URL, without looking up its host; undefined if it can. */
export function urlProblem(text: string, isDevelopment: boolean): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'must be a URL';
  if (url.protocol !== 'https:' && !(isDevelopment && url.protocol === 'http:')) {
    return isDevelopment ? 'must begin with https:// or http://' : 'must begin with https://';
  }
  if (url.username !== '' || url.password !== '') return 'must have no user name and no password';
  if (isDevelopment) return undefined;
  const host = hostOf(url);
  const isInside = isIP(host) !== 0 ? !isPublic(host) : host === 'localhost' || host.endsWith('.localhost');
  return isInside ? 'must lead to a public address' : undefined;
}

/** Returns the host of a URL. An IPv6 address loses its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replaceAll(/^\[|\]$/g, '');
}

/** How long the first query of a lookup waits for a response, in milliseconds. The second one waits for twice as long. */
const DNS_TIMEOUT_MS = 2000;
const DNS_TRIES = 2;

/**
 * The lookup of the host of one request. It rejects a host if any of its addresses is not public. The connection uses the
 * addresses that were checked, so changing the DNS record in between has no effect.
 *
 * It queries the name servers of the process (`dns.getServers()`), and nothing else: no `/etc/hosts`, no search domains.
 * `dns.lookup` would wait in the thread pool, which the process also needs for its database and files, and which cannot
 * be cancelled. Here each lookup has a socket, and waits for no other.
 */
export class PublicLookup {
  readonly #resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });

  constructor() {
    // `dns.setServers()` replaces the functions of the module, so an imported `getServers` would be out of date.
    this.#resolver.setServers(dns.getServers());
  }

  /** The option `lookup` of a request. */
  readonly lookup: LookupFunction = (host, options, done) => {
    this.#find(host).then(
      (addresses) => {
        if (options.all === true) done(null, addresses);
        else done(null, addresses[0]!.address, addresses[0]!.family);
      },
      (error: Error) => done(error, []),
    );
  };

  /** Ends the lookup, if it still runs. */
  cancel(): void {
    this.#resolver.cancel();
  }

  /** Finds at least one address. IPv4 comes first; Node tries the others if it does not connect. */
  async #find(host: string): Promise<LookupAddress[]> {
    const results = await Promise.allSettled([this.#resolver.resolve4(host), this.#resolver.resolve6(host)]);
    const addresses = results.flatMap((result, index) =>
      result.status === 'fulfilled' ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (addresses.length === 0) throw lookupError(host, failed?.reason as NodeJS.ErrnoException | undefined);
    if (!addresses.every(({ address }) => isPublic(address))) throw new PrivateAddress(host);
    return addresses;
  }
}

function lookupError(host: string, cause: NodeJS.ErrnoException | undefined): Error {
  if (cause?.code === 'ECONNREFUSED') return new NameServersDown(host, { cause });
  return cause ?? new Error(`${host} has no address`);
}
