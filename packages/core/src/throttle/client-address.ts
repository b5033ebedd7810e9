import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
const BRACKETED = /^\[([^\]]*)\](:\d+)?$/;
/** A customer gets a /64 at least: the first four groups. */
const NETWORK_GROUPS = 4;

/**
 * Returns the network that a client's address stands for: an IPv4 address by itself, whatever it is wrapped in, and an
 * IPv6 address by its first 64 bits. What is no address is left as it is.
 *
 * @example
 * clientAddress('::ffff:192.0.2.1');         // '192.0.2.1'
 * clientAddress('2001:db8::1:2:3:4%eth0');   // '2001:db8:0:0::/64'
 */
export function clientAddress(address: string): string {
  if (!address.includes(':')) return address;
  const bare = bareAddress(address);
  // ipaddr.js reads more spellings than a socket or a proxy writes.
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
