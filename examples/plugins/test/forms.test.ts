/** Forms with files, beside an application that has registered `@fastify/multipart` for its own routes. */
import multipart, {
  type FastifyMultipartAttachFieldsToBodyOptions,
  type FastifyMultipartOptions,
} from '@fastify/multipart';
import { fastify, type FastifyInstance } from 'fastify';
import t, { type Test } from 'tap';
import { addViews, addViewset, form, openOrm } from './support/library.ts';

async function newApp(
  t: Test,
  place: 'before' | 'after',
  options: FastifyMultipartOptions | FastifyMultipartAttachFieldsToBodyOptions,
  addRoutes: (app: FastifyInstance) => void,
): Promise<FastifyInstance> {
  const orm = await openOrm(t);
  const app = fastify();
  t.teardown(() => app.close());
  if (place === 'before') await app.register(multipart, options as never);
  await addViewset(app, orm);
  await addViews(app);
  if (place === 'after') await app.register(multipart, options as never);
  addRoutes(app);
  return app;
}

for (const place of ['before', 'after'] as const) {
  t.test(`@fastify/multipart ${place} the router reads the application's forms too`, async (t) => {
    const app = await newApp(t, place, { limits: { fileSize: 2 }, throwFileSizeLimit: false }, (routes) => {
      routes.post('/own', async (request) => {
        const part = await request.file();
        await part!.toBuffer();
        return { truncated: part!.file.truncated };
      });
    });
    const own = await app.inject({ method: 'POST', url: '/own', ...form('Emma') });
    t.strictSame(own.json(), { truncated: true }, 'with its own limit');
    const created = await app.inject({ method: 'POST', url: '/api/covers', ...form('Emma') });
    t.match([created.statusCode, created.json()], [201, { cover: { size: 3 } }], 'with the limit of the field');
    const large = form('Persuasion', 'x'.repeat(1001));
    const refused = await app.inject({ method: 'POST', url: '/api/covers', ...large });
    t.match([refused.statusCode, refused.json()], [413, { code: 'payload_too_large' }]);
  });

  for (const attachFieldsToBody of [true, 'keyValues'] as const) {
    t.test(
      `attachFieldsToBody: ${attachFieldsToBody}, ${place} the router: files of views are not in memory`,
      async (t) => {
        let files = 0;
        const onFile = async (part: { toBuffer(): Promise<Buffer> }): Promise<void> => {
          files += 1;
          await part.toBuffer();
        };
        const app = await newApp(t, place, { attachFieldsToBody, onFile }, (routes) => {
          routes.post('/own', async (request) => Object.keys(request.body as object));
        });
        const own = await app.inject({ method: 'POST', url: '/own', ...form('Emma') });
        t.strictSame(own.json(), ['title', 'price', 'cover']);
        t.equal(files, 1);
        const created = await app.inject({ method: 'POST', url: '/api/covers', ...form('Emma') });
        t.match([created.statusCode, created.json()], [201, { title: 'Emma', cover: { size: 3 } }]);
        t.equal(files, 1, 'the plugin has not read it');
        const patched = await app.inject({ method: 'PATCH', url: '/api/covers/1', payload: { title: 'Persuasion' } });
        t.match([patched.statusCode, patched.json()], [200, { title: 'Persuasion', cover: { size: 3 } }], 'JSON');
      },
    );
  }
}

t.test('a property of requests that the plugin would add is named when the router is registered', async (t) => {
  const orm = await openOrm(t);
  const app = fastify();
  t.teardown(() => app.close());
  app.decorateRequest('parts', undefined as never);
  await addViewset(app, orm);
  await t.rejects(addViews(app), {
    code: 'improperly_configured',
    message: /file\(\) needs @fastify\/multipart, which adds request\.parts, but requests have it already/,
  });
});
