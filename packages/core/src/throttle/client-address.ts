import { isIPv6 } from 'node:net';

const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
const BRACKETED = /^\[([^\]]*)\](:\d+)?$/;
const GROUPS = 8;
/** A customer gets a /64 at least: the first four groups. */
const NETWORK_GROUPS = 4;

/**
 * The network that a client's address stands for: an IPv4 address by itself, whatever it is wrapped in, and an IPv6
 * address by its first 64 bits. What is no address is left as it is.
 *
 * @example
 * clientAddress('::ffff:192.0.2.1');         // '192.0.2.1'
 * clientAddress('2001:db8::1:2:3:4%eth0');   // '2001:db8:0:0::/64'
 */
export function clientAddress(address: string): string {
  if (!address.includes(':')) return address;
  const bare = bareAddress(address);
  if (!isIPv6(bare)) return IPV4_WITH_PORT.exec(bare)?.[1] ?? address;
  const groups = expand(bare);
  if (isMappedIPv4(groups)) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  }
  let network = '';
  for (let place = 0; place < NETWORK_GROUPS; place++) network += `${groups[place]!.toString(16)}:`;
  return `${network}:/64`;
}

/** Without the brackets and the port that some proxies add, and without a zone. */
function bareAddress(address: string): string {
  const inside = address.startsWith('[') ? (BRACKETED.exec(address)?.[1] ?? address) : address;
  const zone = inside.indexOf('%');
  return zone === -1 ? inside : inside.slice(0, zone);
}

/** The eight groups of an address that is known to be IPv6. */
function expand(address: string): number[] {
  const gap = address.indexOf('::');
  const head = groupsOf(gap === -1 ? address : address.slice(0, gap));
  if (gap === -1) return head;
  const tail = groupsOf(address.slice(gap + 2));
  while (head.length + tail.length < GROUPS) head.push(0);
  return head.concat(tail);
}

function groupsOf(part: string): number[] {
  const groups: number[] = [];
  if (part === '') return groups;
  for (const group of part.split(':')) {
    if (group.includes('.')) {
      const [a, b, c, d] = group.split('.').map(Number) as [number, number, number, number];
      groups.push(a * 256 + b, c * 256 + d);
    } else {
      groups.push(Number.parseInt(group, 16));
    }
  }
  return groups;
}

function isMappedIPv4(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}
