import ipaddr from 'ipaddr.js';
import dns from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

/** The error for an address that a webhook must not be sent to. */
export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';

  constructor(host: string) {
    super(`${host} is no public address`);
  }
}

/**
 * Tells if an address is one of the public internet: none that is private, loopback, link-local (which the metadata of clouds are), shared, multicast,
 * reserved, or leads to an IPv4 address by a translation.
 */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  return ipaddr.process(address).range() === 'unicast';
}

/** Tells why a URL may not be that of a webhook, as far as it can be told without a look-up; undefined if it may. */
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

/** The host of a URL, an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replaceAll(/^\[|\]$/g, '');
}

/**
 * Looks a host up for a connection, and refuses it if one of its addresses is not public. The connection goes to the very addresses that were
 * looked at, so that a name that changes its address in between gains nothing.
 */
export const lookupPublic: LookupFunction = (host, options, done) => {
  dns.lookup(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, []);
    if (!addresses.every(({ address }) => isPublic(address))) return done(new PrivateAddress(host), []);
    if (options.all === true) return done(null, addresses);
    done(null, addresses[0]!.address, addresses[0]!.family);
  });
};
