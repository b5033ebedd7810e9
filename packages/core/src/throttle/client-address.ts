import { isIPv6 } from 'node:net';

const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
const BRACKETED = /^\[([^\]]*)\](:\d+)?$/;
/** A customer gets a /64 at least: the first four groups of eight. */
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
  const bare = BRACKETED.exec(address)?.[1] ?? address;
  const dotted = (MAPPED_IPV4.exec(bare) ?? IPV4_WITH_PORT.exec(bare))?.[1];
  if (dotted !== undefined) return dotted;
  const unzoned = bare.split('%', 1)[0]!;
  if (!isIPv6(unzoned)) return address;
  const groups = expand(unzoned);
  if (isMappedIPv4(groups)) return groups.slice(6).flatMap((group) => [group >> 8, group & 255]).join('.');
  return `${groups.slice(0, NETWORK_GROUPS).map((group) => group.toString(16)).join(':')}::/64`;
}

/** The eight groups of an address that is known to be IPv6. */
function expand(address: string): number[] {
  const [head, tail] = address.split('::').map(groupsOf);
  const filled = head!.length + (tail?.length ?? 0);
  return [...head!, ...Array.from({ length: 8 - filled }, () => 0), ...(tail ?? [])];
}

function groupsOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a, b, c, d] = group.split('.').map(Number) as [number, number, number, number];
    return [a * 256 + b, c * 256 + d];
  });
}

function isMappedIPv4(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}
