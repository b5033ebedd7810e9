/** Fields of bodies under other names than those of their properties. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  field,
  file,
  type FileStore,
  FileType,
  type InputOf,
  many,
  ModelViewSet,
  nested,
  readShape,
  refs,
  Router,
  type WriteData,
  writeShape,
} from '../../src/index.ts';
import { recordQueries } from '../query/record-queries.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Role = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(20).unique() },
});
const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary(), label: p.string().length(20).unique() },
});
const Account = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20).unique(),
    email: p.string().length(50).unique(),
    bio: p.string().length(100).nullable(),
    source: p.string().length(20).default('web'),
    avatar: p.type(FileType).nullable(),
    role: () => p.manyToOne(Role).nullable(),
    tags: () => p.manyToMany(Tag),
    posts: () => p.oneToMany(Post).mappedBy('author'),
  },
});
const Post = defineEntity({
  name: 'Post',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20).unique(),
    author: () => p.manyToOne(Account),
  },
});

const stored = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => {
    const pieces: Buffer[] = [];
    for await (const piece of content) pieces.push(piece as Buffer);
    stored.set(key, Buffer.concat(pieces));
  },
  get: () => {
    throw new Error('nobody asks');
  },
  delete: async (key) => void stored.delete(key),
};

const read = readShape(Account, ['id', 'email'], {
  username: 'name',
  about: 'bio',
  group: 'role.name',
  tagList: many('tags.label', { orderBy: 'label' }),
  articles: many(readShape(Post, ['id'], { headline: 'title' }), { from: 'posts', orderBy: 'title' }),
});
const write = writeShape(Account, ['email'], {
  username: field('name', Type.String({ minLength: 3 })),
  about: 'bio',
  group: 'role.name',
  tagList: refs('tags.label'),
  articles: field('posts', nested(writeShape(Post, [], { headline: 'title' }), { update: true })),
});
const seen: object[] = [];

class AccountViewSet extends ModelViewSet(Account, {
  read,
  write,
  fill: { source: () => 'form' },
  fieldWords: { username: { description: 'The name that others see' } },
  validate: (data, problems, _request, _record, { name, bio }) => {
    if (name !== undefined && name === bio) problems.add('/about', `must not be "${data.bio}"`);
  },
}) {
  override performCreate(request: FastifyRequest, data: WriteData<InferEntity<typeof Account>, InputOf<typeof write>>) {
    seen.push({ ...data }, request.body as object);
    return super.performCreate(request, { ...data, name: data.name.toUpperCase() });
  }
}
/** Written by one statement, and several at once by a key that has another name in bodies. */
class PlainViewSet extends ModelViewSet(Account, {
  read: readShape(Account, ['email'], { username: 'name', about: 'bio' }),
  write: writeShape(Account, ['email'], { username: 'name', about: 'bio' }),
  lookupField: 'name',
  bulk: 5,
  etags: true,
}) {}
class PortraitViewSet extends ModelViewSet(Account, {
  read: readShape(Account, ['id'], { portrait: 'avatar' }),
  write: writeShape(Account, ['email'], {
    username: 'name',
    portrait: field('avatar', file({ store, maxBytes: 100, types: ['text/plain'] })),
  }),
}) {}
/** Each of two properties has the name of the other one. */
class CrossedViewSet extends ModelViewSet(Account, {
  read: readShape(Account, ['id', 'name', 'email']),
  write: writeShape(Account, [], { name: field('email'), email: field('name') }),
}) {}

forEachDatabase(t, { entities: [Role, Tag, Account, Post] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Role, { name: 'staff' });
  em.create(Tag, { label: 'new' });
  em.create(Tag, { label: 'old' });
  await em.flush();
  const router = new Router()
    .register('accounts', AccountViewSet)
    .register('plain', PlainViewSet)
    .register('portraits', PortraitViewSet)
    .register('crossed', CrossedViewSet);
  const app = await testApp(t, orm, [router]);
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object, headers = {}) => {
    const response = await app.inject({ method, url, payload, headers });
    return { status: response.statusCode, body: response.json(), headers: response.headers };
  };
  const detailsOf = ({ body }: Awaited<ReturnType<typeof send>>): string[] =>
    (body.details ?? []).map(({ path, message }: { path: string; message: string }) => `${path} ${message}`);

  const ada = { email: 'ada@x', username: 'ada', about: 'Hi', group: 'staff', tagList: ['old', 'new'] };
  let id = 0;

  await t.test('bodies use the renamed fields, and hooks receive the names of the entity', async (t) => {
    const created = await send('POST', '/accounts', { ...ada, articles: [{ headline: 'One' }], name: 'dropped' });
    t.equal(created.status, 201);
    id = created.body.id;
    const articles = [{ id: created.body.articles[0].id, headline: 'One' }];
    t.strictSame(created.body, { id, ...ada, username: 'ADA', tagList: ['new', 'old'], articles });
    const [data, body] = seen as [Record<string, unknown>, object];
    t.strictSame(Object.keys(data).toSorted(), ['bio', 'email', 'name', 'posts', 'role', 'source', 'tags']);
    t.strictSame([data['name'], data['source'], data['posts']], ['ada', 'form', [{ title: 'One' }]]);
    t.match(body, { name: 'ada', tags: ['old', 'new'] });
  });

  await t.test('PUT and PATCH do so too, children included', async (t) => {
    const [first] = (await app.inject(`/accounts/${id}`)).json().articles;
    const changed = [{ id: first.id, headline: 'Uno' }, { headline: 'Due' }];
    const patched = await send('PATCH', `/accounts/${id}`, { about: null, tagList: ['new'], articles: changed });
    t.match(patched, { status: 200, body: { username: 'ADA', about: null, tagList: ['new'] } });
    t.match(patched.body.articles, [{ headline: 'Due' }, { id: first.id, headline: 'Uno' }]);
    const replaced = await send('PUT', `/accounts/${id}`, { email: 'ada@y', username: 'Ada' });
    t.match(replaced, { status: 200, body: { email: 'ada@y', username: 'Ada', group: 'staff' } });
  });

  await t.test('errors have the paths of the body', async (t) => {
    t.strictSame(detailsOf(await send('POST', '/accounts', { name: 'x', bio: 7 })), [
      '/email is required',
      '/username is required',
    ]);
    const wrong = {
      ...ada,
      username: 'x',
      about: 7,
      group: 'nobody',
      tagList: ['new', 'odd'],
      articles: [{ title: 'x' }],
    };
    t.strictSame(detailsOf(await send('POST', '/accounts', wrong)).toSorted(), [
      '/about must be a string or null',
      '/articles/0/headline is required',
      '/group must be the name of an existing Role',
      '/tagList/1 must be the label of an existing Tag',
      '/username must be at least 3 characters',
    ]);
    t.strictSame(detailsOf(await send('POST', '/accounts', { ...ada, username: 'x'.repeat(21) })), [
      '/username must be at most 20 characters',
    ]);
    t.strictSame(detailsOf(await send('POST', '/accounts', { ...ada, about: 'ada' })), ['/about must not be "ada"']);
  });

  await t.test('conflicts name the fields of the body', async (t) => {
    const post = (more: object) => send('POST', '/accounts', { email: 'bob@x', username: 'bob', ...more });
    const taken = await send('PATCH', `/plain/Ada`, { username: 'Ada' });
    t.equal(taken.status, 200, 'its own name');
    t.strictSame(detailsOf(await send('POST', '/plain', { email: 'bob@x', username: 'Ada' })), ['/username is taken']);
    t.strictSame(detailsOf(await post({ articles: [{ headline: 'Three' }, { headline: 'Uno' }] })), [
      '/articles/1/headline is taken',
    ]);
  });

  await t.test('a write is one statement and compares If-Match', async (t) => {
    const queries = recordQueries(orm);
    const created = await send('POST', '/plain', { email: 'cyd@x', username: 'cyd', name: 'no' });
    queries.stop();
    t.strictSame([created.status, created.body], [201, { email: 'cyd@x', username: 'cyd', about: null }]);
    t.equal(created.headers.location, '/plain/cyd');
    t.ok(queries.texts.length <= 2, 'on MongoDB, the key is counted before');
    const match = { 'if-match': String(created.headers.etag) };
    t.match(await send('PATCH', '/plain/cyd', { about: 'x' }, match), { status: 200, body: { about: 'x' } });
    t.match(await send('PATCH', '/plain/cyd', { about: 'y' }, match), { status: 412 });
  });

  await t.test('bulk writes use the renamed fields, also for the key', async (t) => {
    const several = [
      { email: 'dot@x', username: 'dot' },
      { email: 'eve@x', username: 'eve' },
    ];
    t.match(await send('POST', '/plain', several), { status: 201, body: several });
    const changes = [
      { username: 'eve', about: 'E' },
      { username: 'dot', about: 'D' },
    ];
    t.match(await send('PATCH', '/plain', changes), { status: 200, body: changes });
    t.strictSame(detailsOf(await send('PATCH', '/plain', [{ about: 'D' }])), ['/0/username is required']);
    t.strictSame(detailsOf(await send('PATCH', '/plain', [{ username: 'fay' }])), ['/0/username names no record: fay']);
    t.strictSame(
      detailsOf(
        await send('POST', '/plain', [
          { email: 'f@x', username: 'fay' },
          { ...several[0]!, email: 'g@x' },
        ]),
      ),
      ['/1/username is taken'],
    );
  });

  await t.test('a form has a file under another name', async (t) => {
    const part = (name: string, content: string, more = '', type = '') =>
      `--fence\r\ncontent-disposition: form-data; name="${name}"${more}\r\n${type}\r\n${content}\r\n`;
    const text = part('portrait', 'A face', '; filename="face.txt"', 'content-type: text/plain\r\n');
    const payload = `${part('email', 'gus@x')}${part('username', 'gus')}${text}--fence--\r\n`;
    const headers = { 'content-type': 'multipart/form-data; boundary=fence' };
    const response = await app.inject({ method: 'POST', url: '/portraits', payload, headers });
    t.equal(response.statusCode, 201);
    t.match(response.json(), { portrait: { name: 'face.txt', size: 6, type: 'text/plain' } });
    t.match(response.json().portrait.url, /\/portraits\/\d+\/avatar$/);
    t.match([...stored.values()].map(String), ['A face']);
    const { id: removed } = response.json();
    t.match(await send('PATCH', `/portraits/${removed}`, { portrait: null }), {
      status: 200,
      body: { portrait: null },
    });
  });

  await t.test('two properties may swap their names', async (t) => {
    const created = await send('POST', '/crossed', { name: 'hal@x', email: 'hal' });
    t.match(created, { status: 201, body: { name: 'hal', email: 'hal@x' } });
    t.strictSame(detailsOf(await send('PATCH', `/crossed/${created.body.id}`, { email: 'cyd' })), ['/email is taken']);
  });

  await t.test('documents have the names of bodies', async (t) => {
    const plan = app.viewset.operations.find(({ operationId }) => operationId === 'createAccount')!;
    t.match(plan.body?.schema, {
      required: ['email', 'username'],
      properties: {
        username: { type: 'string', minLength: 3, maxLength: 20 },
        about: { type: ['string', 'null'], maxLength: 100 },
        articles: { items: { properties: { headline: { maxLength: 20 } }, required: ['headline'] } },
      },
    });
    const portrait = app.viewset.operations.find(({ operationId, route }) => {
      return operationId.startsWith('create') && route.startsWith('portraits');
    })!;
    t.match(portrait.body?.form, { properties: { portrait: {} } }, 'a form');
    t.match(portrait.body?.schema, { properties: { portrait: { type: 'null' } } });
  });
});
