import ipaddr from 'ipaddr.js';
import dns from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

/** The error for an address that a webhook may not use. */
export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';

  constructor(host: string) {
    super(`${host} is no public address`);
  }
}

/** The IPv6 addresses that IANA assigns for global unicast (RFC 4291, section 2.4). All others lead elsewhere. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Tells if an address is on the public internet. Private, loopback, link-local (such as cloud metadata), shared,
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

/**
 * Looks up the host for a connection, and rejects it if any of its addresses is not public. The connection uses the
 * addresses that were checked, so changing the DNS record in between has no effect.
 */
export const lookupPublic: LookupFunction = (host, options, done) => {
  dns.lookup(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, []);
    if (!addresses.every(({ address }) => isPublic(address))) return done(new PrivateAddress(host), []);
    if (options.all === true) return done(null, addresses);
    done(null, addresses[0]!.address, addresses[0]!.family);
  });
};
