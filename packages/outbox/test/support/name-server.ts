import { createSocket } from 'node:dgram';
import dns from 'node:dns';
import { once } from 'node:events';
import type { Test } from 'tap';

/** The IPv4 addresses of a host; undefined: no response at all. */
export type Zone = (host: string) => readonly string[] | undefined;

/** Starts a name server (RFC 1035) on UDP, and uses it in this process. It has no IPv6 addresses. Returns the hosts of its queries. */
export async function nameServer(t: Test, zone: Zone): Promise<{ queried: string[] }> {
  const queried: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { host, end } = readName(query);
    queried.push(host);
    const addresses = zone(host);
    if (addresses === undefined) return;
    const isIpv4 = query.readUInt16BE(end) === 1;
    const answers = isIpv4 ? addresses.map(record) : [];
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(answers.length, 6);
    header.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([header, query.subarray(12, end + 4), ...answers]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  useNameServer(t, socket.address().port);
  return { queried };
}

/** Uses a name server on a port of this machine, until the test ends. */
export function useNameServer(t: Test, port: number): void {
  const before = dns.getServers();
  dns.setServers([`127.0.0.1:${port}`]);
  t.teardown(() => dns.setServers(before));
}

/** Reads the name of the question. */
function readName(query: Buffer): { host: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { host: labels.join('.'), end: at + 1 };
}

/** The record of an address, for the name of the question. */
function record(address: string): Buffer {
  const fixed = Buffer.from('c00c00010001000000000004', 'hex');
  return Buffer.concat([fixed, Buffer.from(address.split('.').map(Number))]);
}
