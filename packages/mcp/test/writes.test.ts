/** The tools that write, by the SDK's own client, on every database. */
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import {
  Book,
  connect,
  ENTITIES,
  fillLibrary,
  IdempotencyKeys,
  Profile,
  startLibrary,
  type ToolValue,
} from './support/app.ts';

forEachDatabase(t, { entities: ENTITIES }, async (t, orm) => {
  await fillLibrary(orm);
  const { url } = await startLibrary(t, orm, { options: { idempotency: new IdempotencyKeys() } });
  const { client, call } = await connect(t, url, '7');
  const done = async (name: string, args: Record<string, unknown>): Promise<ToolValue> => {
    const { isError, value } = await call(name, args);
    t.equal(isError, false, JSON.stringify(value));
    return value;
  };
  const titles = async (): Promise<string[]> => (await orm.em.fork().findAll(Book)).map(({ title }) => title);

  t.test('create, update and delete a record', async (t) => {
    const { record } = await done('create', { resource: 'books', values: { title: 'Fir', pages: 7 } });
    t.match(record, { title: 'Fir', pages: 7 });
    const { id } = record;
    t.match((await done('update', { resource: 'books', id, values: { pages: 8 } })).record, { title: 'Fir', pages: 8 });
    t.strictSame(await done('delete', { resource: 'books', id }), { deleted: true });
    t.match(await call('delete', { resource: 'books', id }), { isError: true, value: { status: 404 } });
    t.notOk((await titles()).includes('Fir'));
  });

  t.test('a nested record belongs to its parent, and a single one needs no id', async (t) => {
    const parents = { author: 2 };
    const { record } = await done('create', { resource: 'authors-books', parents, values: { title: 'Gum' } });
    const book = await orm.em.fork().findOneOrFail(Book, { title: 'Gum' });
    t.equal(book.author?.id, 2);
    const { id } = record;
    const other = { resource: 'authors-books', parents: { author: 1 }, id, values: { title: 'Stolen' } };
    t.match(await call('update', other), { isError: true, value: { status: 404 } });
    await done('delete', { resource: 'authors-books', parents, id });
    t.match(await done('update', { resource: 'profile', values: { theme: 'light' } }), { record: { theme: 'light' } });
    t.equal((await orm.em.fork().findOneOrFail(Profile, { owner: 7 })).theme, 'light');
  });

  t.test('a record that has changed since it was read stays as it is', async (t) => {
    const { etag } = await done('get', { resource: 'books', id: 3 });
    const changed = await done('update', { resource: 'books', id: 3, values: { pages: 1 }, etag });
    t.not(changed.etag, etag);
    const late = await call('update', { resource: 'books', id: 3, values: { pages: 2 }, etag });
    t.match(late, { isError: true, value: { status: 412, hint: /send its "etag"/ } });
    t.match(await call('delete', { resource: 'books', id: 3, etag }), { isError: true, value: { status: 412 } });
    t.equal((await orm.em.fork().findOneOrFail(Book, 3)).pages, 1);
    const none = await call('update', { resource: 'authors', id: 1, values: { name: 'A' }, etag: '"x"' });
    t.match(none, { isError: true, value: { error: /compares no "etag"/ } });
  });

  t.test('a write that is sent twice with one key is done once', async (t) => {
    const args = { resource: 'books', values: { title: 'Holly' }, key: 'a "quoted" \\ key' };
    const [first, second] = [await done('create', args), await done('create', args)];
    t.strictSame(first, second);
    t.equal((await titles()).filter((title) => title === 'Holly').length, 1);
    const reused = await call('create', { ...args, values: { title: 'Ivy' } });
    t.match(reused, { isError: true, value: { status: 422, code: 'idempotency_key_reused' } });
    await done('update', { resource: 'books', id: 4, values: { pages: 4 }, key: 'k4' });
    await done('act', { resource: 'books', action: 'rate', id: 4, body: { stars: 1 }, key: 'k5' });
    t.match((await call('describe', { resource: 'books' })).value, {
      create: { key: 'optional' },
      actions: { rate: { key: 'optional' } },
    });
  });

  t.test('a key that could not be kept is refused, not ignored', async (t) => {
    const { url: plain } = await startLibrary(t, orm);
    const other = await connect(t, plain, '7');
    const args = { resource: 'books', values: { title: 'Juniper' }, key: 'k' };
    t.match(await other.call('create', args), { isError: true, value: { error: /takes no "key"/ } });
    t.notOk((await titles()).includes('Juniper'));
    const told = (await other.client.listTools()).tools.find(({ name }) => name === 'create')!;
    t.notOk('key' in told.inputSchema.properties!, 'nor does any tool tell of it');
    const { tools } = await client.listTools();
    t.ok('key' in tools.find(({ name }) => name === 'create')!.inputSchema.properties!);
  });

  t.test('a route that requires a key gets one', async (t) => {
    const { url: strict } = await startLibrary(t, orm, {
      options: { idempotency: new IdempotencyKeys({ mode: 'required' }) },
    });
    const { call: send } = await connect(t, strict, '7');
    for (const _ of [1, 2]) {
      t.match(await send('create', { resource: 'books', values: { title: 'Katsura' } }), { isError: false });
    }
    t.equal((await titles()).filter((title) => title === 'Katsura').length, 2, 'a new one for each call');
  });

  t.test('an action receives its body, and a failed one is rolled back', async (t) => {
    const rated = await done('act', { resource: 'books', action: 'rate', id: 5, body: { stars: 5 } });
    t.strictSame(rated, { answer: { title: 'Elm', stars: 5 } });
    t.match(await done('act', { resource: 'books', action: 'longest' }), { answer: { results: [{ title: 'Elm' }] } });
    t.match(await done('act', { resource: 'books', action: 'print' }), {
      note: /application\/pdf, which is not shown/,
    });
    t.match(await call('act', { resource: 'books', action: 'purge' }), { isError: true, value: { status: 403 } });
  });

  t.test('values of the wrong kind are refused by the route', async (t) => {
    for (const values of [{ title: { $ne: '' } }, { title: ['x'] }, { title: 'x', pages: 1e300 }, { title: null }]) {
      t.match(await call('create', { resource: 'books', values }), { isError: true, value: { status: 400 } });
    }
    t.match(await call('create', { resource: 'books', values: { title: 'x', id: 1 } }), {
      isError: true,
      value: { error: 'values has no "id"' },
    });
    t.match(await call('create', { resource: 'books', values: JSON.parse('{"__proto__":{"title":"x"}}') }), {
      isError: true,
    });
    t.match(await call('update', { resource: 'books', id: { $gt: 0 }, values: {} }), { isError: true });
    t.match(await call('update', { resource: 'books', id: true, values: {} }), { isError: true });
  });
});
