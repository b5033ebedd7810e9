import { fastify } from 'fastify';
import t from 'tap';
import { addVary } from '../../src/index.ts';

t.test('addVary adds a header to Vary once, and keeps the others', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  app.get('/', (request, reply) => {
    const { told } = request.query as { readonly told?: string | string[] };
    if (told !== undefined) reply.header('vary', told);
    addVary(reply, 'Accept');
    return 'told';
  });
  const varyOf = async (query: string): Promise<unknown> => (await app.inject(`/?${query}`)).headers['vary'];
  t.equal(await varyOf(''), 'Accept');
  t.equal(await varyOf('told=Origin'), 'Origin, Accept');
  t.equal(await varyOf('told=Origin&told=Cookie'), 'Origin, Cookie, Accept');
  t.equal(await varyOf('told=origin,%20accept'), 'origin, accept');
  t.equal(await varyOf('told=*'), '*');
});
