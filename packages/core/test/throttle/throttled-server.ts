/** One of several servers whose limiter counts in one Redis: prints its port, and serves until it is killed. */
import fastify from 'fastify';
import { Redis } from 'ioredis';
import type { HttpError } from '../../src/errors/errors.ts';
import { RedisStore } from '../../src/stores/redis-store.ts';
import { IPRateLimit } from '../../src/throttle/built-in-rules.ts';
import { RequestLimiter } from '../../src/throttle/request-limiter.ts';

const [url, count, windowSeconds] = process.argv.slice(2) as [string, string, string];
const client = new Redis(url);
await client.ping();
const app = fastify();
const rules = [new IPRateLimit(Number(count), Number(windowSeconds))];
const limiter = new RequestLimiter({ rules, store: new RedisStore(client, { timeoutMs: 60_000 }), log: app.log });
app.addHook('onRequest', async (request, reply) => limiter.check('address', request, reply));
app.setErrorHandler((error: HttpError, _request, reply) => {
  void reply.code(error.statusCode).headers(error.headers).send(error.toBody());
});
app.get('/', async () => 'ok');
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
