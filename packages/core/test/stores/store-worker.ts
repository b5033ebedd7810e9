/**
 * One of several processes that use one store at once. Says `ready`, waits for a line, does as many hits and takes as it
 * is told to, and prints how many were allowed and matched.
 */
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { RedisStore } from '../../src/stores/redis-store.ts';

const [url, times, limit, windowMs] = process.argv.slice(2) as [string, string, string, string];
const client = new Redis(url);
// Many commands at once take long on a machine with other work. What they come to is looked at, and not their time.
const store = new RedisStore(client, { timeoutMs: 60_000 });
await client.ping();
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const hits = Array.from({ length: Number(times) }, async () => store.hit('shared', Number(limit), Number(windowMs)));
const takes = Array.from({ length: Number(times) }, async () => store.take('shared', 'value', 5));
const allowed = (await Promise.all(hits)).filter((result) => result.allowed).length;
const matched = (await Promise.all(takes)).filter((result) => result.outcome === 'matched').length;
process.stdout.write(JSON.stringify({ allowed, matched }));
client.disconnect();
process.stdin.destroy();
