import t from 'tap';
import { clientAddress } from '../../src/throttle/client-address.ts';

const CASES: readonly (readonly [string, string, string])[] = [
  ['IPv4', '192.0.2.1', '192.0.2.1'],
  ['IPv4 in IPv6', '::ffff:192.0.2.1', '192.0.2.1'],
  ['IPv4 in IPv6, upper case', '::FFFF:192.0.2.1', '192.0.2.1'],
  ['IPv4 in IPv6, in hexadecimal', '::ffff:c000:201', '192.0.2.1'],
  ['IPv4 in IPv6, in full', '0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['IPv4 with a port', '192.0.2.1:4711', '192.0.2.1'],
  ['IPv6', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['IPv6, another host of the same network', '2001:db8:1:2:ffff::', '2001:db8:1:2::/64'],
  ['IPv6 with leading zeros', '2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
  ['IPv6, shortened in front', '::1', '0:0:0:0::/64'],
  ['IPv6, shortened within the network', '2001:db8::1', '2001:db8:0:0::/64'],
  ['IPv6, another network', '2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['IPv6 in upper case', '2001:DB8:A:B::1', '2001:db8:a:b::/64'],
  ['IPv6 with a zone', 'fe80::1:2:3:4%eth0', 'fe80:0:0:0::/64'],
  ['IPv6 in brackets with a port', '[2001:db8:1:2::1]:443', '2001:db8:1:2::/64'],
  ['IPv6 with a dotted end that is not mapped', '64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['the unspecified address', '::', '0:0:0:0::/64'],
  ['what is no address', 'unknown', 'unknown'],
  ['what is no address, with colons', 'a:b:c', 'a:b:c'],
];

for (const [name, address, expected] of CASES) {
  t.test(name, async (t) => {
    t.equal(clientAddress(address), expected);
  });
}
