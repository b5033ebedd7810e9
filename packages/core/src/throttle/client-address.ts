import type { FastifyRequest } from 'fastify';
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
const BRACKETED = /^\[([^\]]*)\](:\d+)?$/;
/** Providers assign a customer at least a /64: the first four groups. */
const NETWORK_GROUPS = 4;

/**
 * Returns the network of a client's address: an IPv4 address itself, also if it is wrapped in IPv6, and the first 64
 * bits of an IPv6 address. Returns any other text unchanged.
 *
 * @example
 * clientAddress('::ffff:192.0.2.1');         // '192.0.2.1'
 * clientAddress('2001:db8::1:2:3:4%eth0');   // '2001:db8:0:0::/64'
 */
export function clientAddress(address: string): string {
  if (!address.includes(':')) return address;
  const bare = bareAddress(address);
  // ipaddr.js accepts more spellings than a socket or a proxy writes.
  if (!isIPv6(bare)) return IPV4_WITH_PORT.exec(bare)?.[1] ?? address;
  const known = ipaddr.IPv6.parse(bare);
  if (known.isIPv4MappedAddress()) return known.toIPv4Address().toString();
  const network = known.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/**
 * Returns the network of a request's client, to count clients by: an IPv4 address by itself, and an IPv6 address by its first 64 bits, because
 * a client has as many of the others as it likes. The address is Fastify's `request.ip`. Undefined if the connection is gone already, or has no
 * address (a Unix socket without a proxy before it).
 *
 * @example
 * clientNetwork(request); // '192.0.2.1', or '2001:db8:0:0::/64'
 */
export function clientNetwork(request: FastifyRequest): string | undefined {
  const ip = request.ip as string | undefined;
  return ip === undefined || ip === '' ? undefined : clientAddress(ip);
}

/** Removes the brackets and the port that some proxies add, and a zone. */
function bareAddress(address: string): string {
  const inside = address.startsWith('[') ? (BRACKETED.exec(address)?.[1] ?? address) : address;
  const zone = inside.indexOf('%');
  return zone === -1 ? inside : inside.slice(0, zone);
}
