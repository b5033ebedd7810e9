import fastify, { type FastifyReply } from 'fastify';
import t from 'tap';
import { recordSentBy } from '../../../src/view/output/sent-record.ts';

/** The methods of Fastify's replies that change nothing of an answer. */
const READING = new Set([
  'getHeader',
  'getHeaders',
  'hasHeader',
  'hasTrailer',
  'getDecorator',
  'getSerializationFunction',
  'compileSerializationSchema',
  'serializeInput',
  'serialize',
]);

t.test('reply methods called while an ETag is computed do not change the response', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  app.get('/', async (_request, reply) => {
    const shared = await recordSentBy(async (silent) => {
      const methods = methodsOf(reply);
      return { names: methods.filter((name) => Reflect.get(silent, name) === Reflect.get(reply, name)) };
    }, reply);
    return shared;
  });
  const { names } = (await app.inject('/')).json<{ names: string[] }>();
  t.same(
    names.filter((name) => !READING.has(name)),
    [],
  );
});

/** Lists the methods that every reply has. */
function methodsOf(reply: FastifyReply): string[] {
  const prototype = Object.getPrototypeOf(reply) as object;
  if (prototype === Object.prototype) return [];
  const names = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => typeof value === 'function' && name !== 'constructor')
    .map(([name]) => name);
  return [...names, ...methodsOf(prototype as FastifyReply)];
}
