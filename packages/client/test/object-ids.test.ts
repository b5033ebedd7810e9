/** Keys that MongoDB makes, which are texts to a client. */
import { serverOptions, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { NOTES, notesRouter } from '../../core/test/support/notes.ts';
import { createClient } from '../src/index.ts';

forEachDatabase(t, { entities: NOTES, only: ['mongodb'] }, async (t, orm) => {
  const app = fastify(serverOptions());
  await app.register(viewset, { orm });
  await app.register(notesRouter().plugin);
  t.teardown(() => app.close());
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const api = createClient<ReturnType<typeof notesRouter>>({ url: `${url}/api/` });

  const author = await api.authors.create({ name: 'Ada' });
  const [red, blue] = await api.tags.createMany([{ name: 'red' }, { name: 'blue' }]);
  const key: string = author.id;
  const made = await api.notes.create({ text: 'one', author: key, tags: [red!.id, blue!.id] });
  t.strictSame(await api.notes.retrieve(made.id), made);
  t.strictSame(made, { id: made.id, text: 'one', author: key, tags: [red!.id, blue!.id] });
  const found = await api.notes.list({
    id: made.id,
    in: [made.id],
    authors: [key],
    filter: { '==': [{ var: 'author' }, key] },
  });
  t.strictSame(found.results, [made]);
  t.equal((await api.notes.update(made.id, { author: null })).author, null);
  const file = new File(['hello'], 'a.txt', { type: 'text/plain' });
  const scan = await api.scans.create({ note: made.id, file });
  t.equal(await (await fetch(new URL(scan.file.url, url))).text(), 'hello');
  t.equal((await api.notes(made.id).scans.list()).count, 1);
  await api.notes.destroyMany([made.id]).catch((error: unknown) => t.match(error, { status: 409 }));
  await api.scans.destroy(scan.id);
  await api.notes.destroyMany([made.id]);
  t.equal((await api.notes.list()).count, 0);
  // @ts-expect-error a key is a text
  await t.rejects(api.notes.retrieve(7), { status: 404 });
  // @ts-expect-error here too
  await t.rejects(api.notes.list({ author: 7 }), { status: 400 });
});
