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

/** Removes the brackets and the port that some proxies add, and a zone. */
function bareAddress(address: string): string {
  const inside = address.startsWith('[') ? (BRACKETED.exec(address)?.[1] ?? address) : address;
  const zone = inside.indexOf('%');
  return zone === -1 ? inside : inside.slice(0, zone);
}
