/** Features of an application: an option of views from its name to what it adds to a view. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { Type } from 'typebox';
import {
  action,
  AllowAny,
  type Feature,
  ImproperlyConfigured,
  ModelViewSet,
  QuerySet,
  readShape,
  Router,
  type RecordWrite,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';
import { Book, errorAtStart, fillLibrary, LIBRARY, Publisher, testApp } from '../support/library.ts';

declare module '../../src/view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    readonly publishAt?: keyof Entity & string;
    readonly audited?: boolean;
  }
}

const PostSchema = defineEntity({
  name: 'Post',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(50),
    published_at: p.datetime().nullable(),
    comments: () => p.oneToMany(Comment).mappedBy('post'),
  },
});
class Post extends PostSchema.class {}
PostSchema.setClass(Post);
const CommentSchema = defineEntity({
  name: 'Comment',
  properties: { id: p.integer().primary(), text: p.string().length(50), post: () => p.manyToOne(Post) },
});
class Comment extends CommentSchema.class {}
CommentSchema.setClass(Comment);

/** Records are visible from a time on. */
const publishAt: Feature<string> = {
  option: 'publishAt',
  rule: ['the name of a property', (value) => typeof value === 'string'],
  resolve: ({ name, meta }, property) => {
    if (!Object.hasOwn(meta.properties, property)) {
      throw new ImproperlyConfigured(`${name}: option "publishAt" names "${property}", which ${meta.className} lacks`);
    }
    return { narrow: (_request, records) => records.filter({ [`${property}__lte`]: new Date() }) };
  },
};

class Posts extends ModelViewSet(Post, {
  read: readShape(Post, ['id', 'title']),
  write: writeShape(Post, ['title', 'published_at']),
  filterFields: { title: 'title' },
  summary: { group: ['title'] },
  exports: ['ndjson'],
  bulk: 10,
  publishAt: 'published_at',
}) {
  titles = action({ response: Type.Array(Type.String()), permissionClasses: [AllowAny] }, async (request) => {
    const rows = await this.rows(this.getQueryset(request));
    return rows.map(({ title }) => title);
  });
}
class Comments extends ModelViewSet(Comment, {
  read: readShape(Comment, ['id', 'text']),
  write: writeShape(Comment, ['text']),
}) {}
class Replies extends ModelViewSet(Comment, {
  read: readShape(Comment, ['id', 'text', 'post']),
  write: writeShape(Comment, ['text', 'post']),
  referenceViews: { post: Posts },
}) {}

const POST = '/posts';
const past = '2020-01-01T00:00:00Z';
const future = '2120-01-01T00:00:00Z';

forEachDatabase(t, { entities: [Post, Comment] }, async (t, orm) => {
  const router = new Router()
    .register('posts', Posts)
    .register('posts/:post/comments', Comments)
    .register('replies', Replies);
  const app = await testApp(t, orm, [router], { options: { features: [publishAt] } });
  const send = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
    app.inject({ method, url, ...(payload && { payload }) });
  const created = async (title: string, published_at: string | null): Promise<number> =>
    (await send('POST', POST, { title, published_at })).json<{ id: number }>().id;
  const seen = await created('seen', past);
  const later = await created('later', future);
  const draft = await created('draft', null);
  await send('POST', `${POST}/${seen}/comments`, { text: 'first' });

  t.test('records that a feature leaves out are in no list, export, summary or action', async (t) => {
    t.strictSame((await send('GET', POST)).json<{ results: unknown[] }>().results, [{ id: seen, title: 'seen' }]);
    t.equal((await send('GET', `${POST}.ndjson`)).body, `${JSON.stringify({ id: seen, title: 'seen' })}\n`);
    t.match((await send('GET', `${POST}/summary`)).json(), { results: [{ count: 1 }] });
    t.strictSame((await send('GET', `${POST}/titles`)).json(), ['seen']);
    t.equal((await send('GET', `${POST}?title=draft`)).json<{ count: number }>().count, 0);
  });

  t.test('they give 404 to reads and writes', async (t) => {
    for (const id of [later, draft]) {
      t.equal((await send('GET', `${POST}/${id}`)).statusCode, 404);
      t.equal((await send('PATCH', `${POST}/${id}`, { title: 'x' })).statusCode, 404);
      t.equal((await send('DELETE', `${POST}/${id}`)).statusCode, 404);
      t.equal((await send('GET', `${POST}/${id}/comments`)).statusCode, 404, 'as the parent of a nested view');
      t.equal((await send('POST', `${POST}/${id}/comments`, { text: 'x' })).statusCode, 404);
      t.equal((await send('PATCH', POST, [{ id, title: 'x' }])).statusCode, 404, 'in a bulk update');
      t.equal((await send('DELETE', `${POST}?pk=${id}`)).statusCode, 404, 'in a bulk deletion');
      t.equal((await send('POST', '/replies', { text: 'x', post: id })).statusCode, 400, 'in a reference');
    }
    t.equal((await send('GET', `${POST}/${seen}/comments`)).json<{ count: number }>().count, 1);
    t.equal((await send('PATCH', `${POST}/${seen}`, { title: 'seen' })).statusCode, 200);
    t.equal((await send('POST', '/replies', { text: 'x', post: seen })).statusCode, 201);
  });
});

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title']);

t.test('an option without its feature, and a value that does not fit it, fail at start', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  class BookViewSet extends ModelViewSet(Book, { read, publishAt: 'titel' as 'title' }) {}
  t.match(await errorAtStart(t, orm, BookViewSet), /^BookViewSet: unknown option "publishAt"/);
  t.equal(
    await errorAtStart(t, orm, BookViewSet, { features: [publishAt] }),
    'BookViewSet: option "publishAt" names "titel", which Book lacks',
  );
  class Wrong extends ModelViewSet(Book, { read, publishAt: 7 as never }) {}
  t.equal(
    await errorAtStart(t, orm, Wrong, { features: [publishAt] }),
    'Wrong: option "publishAt" must be the name of a property, got 7',
  );
  // @ts-expect-error -- not a property of the entity
  class Misspelt extends ModelViewSet(Book, { read, publishAt: 'titel' }) {}
  t.ok(Misspelt);
});

t.test('a feature adds actions, query parameters, wrappers and listeners', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const written: RecordWrite[] = [];
  const steps: string[] = [];
  const audited: Feature<boolean> = {
    option: 'audited',
    rule: ['true or false', (value) => typeof value === 'boolean'],
    resolve: ({ name, operations }, isOn) => {
      if (!isOn) return {};
      steps.push(`${name} ${operations.join()}`);
      return {
        actions: new Map([['audit', action({ detail: true }, async () => ({ writes: written.length }))]]),
        parameters: { list: [{ name: 'trace', schema: Type.Boolean() }] },
        around: {
          list: async (request, _reply, next) => {
            steps.push(`before ${request.url}`);
            const result = await next();
            steps.push('after');
            return result;
          },
        },
        listeners: { create: async (writes) => void written.push(...writes) },
      };
    },
  };
  class BookViewSet extends ModelViewSet(Book, { read, write, audited: true }) {}
  const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], {
    options: { features: [audited] },
  });
  const { id } = (await app.inject({ method: 'POST', url: '/books', payload: { title: 'Emma' } })).json<{
    id: number;
  }>();
  t.match(written, [{ kind: 'created', key: id, record: { id, title: 'Emma' } }]);
  t.equal((await app.inject('/books?trace=true')).statusCode, 200);
  t.equal((await app.inject('/books?trice=true')).statusCode, 400);
  t.strictSame(steps, ['BookViewSet list,create,retrieve,update,destroy', 'before /books?trace=true', 'after']);
  t.strictSame((await app.inject(`/books/${id}/audit`)).json(), { writes: 1 });
});

t.test('two features of one option, a broken one, and an action of the same name are refused', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = await testApp(t, orm, []);
  const feature: Feature<string> = { ...publishAt };
  app.viewset.addFeature(publishAt);
  app.viewset.addFeature(publishAt);
  t.throws(() => app.viewset.addFeature(feature), {
    name: 'ImproperlyConfigured',
    message: 'feature "publishAt": views have an option of this name already',
  });
  t.throws(() => app.viewset.addFeature({ ...publishAt, option: 'read' }), {
    message: 'feature "read": views have an option of this name already',
  });
  t.throws(() => app.viewset.addFeature({ option: 'x', rule: publishAt.rule } as never), {
    message: 'feature "x": option "resolve" must be a function, got undefined',
  });
  t.throws(() => app.viewset.addFeature({ rule: publishAt.rule, resolve: () => ({}) } as never), {
    message: 'feature undefined: option "option" must be a non-empty string, got undefined',
  });
  for (const [features, message] of [
    [publishAt, 'viewset: option "features" must be a list of features'],
    [[null], 'viewset: option "features[0]" must be a feature, got null'],
  ] as const) {
    t.match(await errorOfOptions(t, orm, { features }), message);
  }
  class Clashing extends ModelViewSet(Book, { read, audited: true }) {
    history = action({}, () => ({}));
  }
  const audited: Feature<boolean> = {
    option: 'audited',
    rule: ['true or false', (value) => typeof value === 'boolean'],
    resolve: () => ({ actions: new Map([['history', action({}, () => ({}))]]) }),
  };
  t.equal(
    await errorAtStart(t, orm, Clashing, { features: [audited] }),
    'Clashing: its options make an action "history", and the view has another action of this name; rename it',
  );
});

/** A feature of the option `audited`. */
const audit = (resolve: Feature<boolean>['resolve']): Feature<boolean> => ({
  option: 'audited',
  rule: ['true or false', (value) => typeof value === 'boolean'],
  resolve,
});

t.test('a feature is resolved for views with its option alone, unless it says always', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  class Plain extends ModelViewSet(Book, { read }) {}
  for (const [always, times] of [
    [{}, 0],
    [{ always: undefined }, 0],
    [{ always: false }, 0],
    [{ always: true }, 1],
  ] as const) {
    let resolved = 0;
    const feature = { ...audit(() => (resolved++, {})), ...always };
    t.equal(await errorAtStart(t, orm, Plain, { features: [feature as Feature<boolean>] }), undefined);
    t.equal(resolved, times, JSON.stringify(always));
  }
});

t.test('what resolve() returns is checked at start', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  class BookViewSet extends ModelViewSet(Book, { read, write, audited: true }) {}
  class Own extends ModelViewSet(Book, { read, write, audited: true }) {
    override async update() {
      return {} as never;
    }
  }
  for (const [View, parts, message] of [
    [
      BookViewSet,
      async () => ({}),
      'BookViewSet: feature "audited": resolve() must be synchronous, but it returned a promise',
    ],
    [
      BookViewSet,
      () => ({ narow: () => 1 }),
      /^BookViewSet: feature "audited": unknown option "narow"; did you mean "narrow"/,
    ],
    [BookViewSet, () => undefined, 'BookViewSet: feature "audited": the options must be an object, got undefined'],
    [
      BookViewSet,
      () => ({ actions: new Map([['list', action({}, () => ({}))]]) }),
      'BookViewSet: option "audited" makes an action with the name of an operation: "list"',
    ],
    [
      Own,
      () => ({ listeners: { update: async () => {} } }),
      'Own: the view has "audited", but update does not call super.update(), so its writes would be missed',
    ],
  ] as const) {
    t.match(await errorAtStart(t, orm, View, { features: [audit(parts as never)] }), message);
  }
  class Silent extends ModelViewSet(Book, { read, write, emits: [] }) {}
  t.equal(await errorAtStart(t, orm, Silent), undefined, 'an empty list of events needs no plugin');
});

t.test('a narrow() that does not narrow gives 500, and never more records', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  await fillLibrary(orm);
  class BookViewSet extends ModelViewSet(Book, { read, write, audited: true }) {
    override getQueryset(request: FastifyRequest) {
      return super.getQueryset(request).filter({ pages__gte: 200 });
    }
  }
  for (const narrow of [
    () => undefined,
    async (_request: FastifyRequest, records: QuerySet<object>) => records,
    (_request: FastifyRequest, records: QuerySet<object>) => records.slice(0, 1),
    () => QuerySet.of(orm.em, Publisher),
  ]) {
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], {
      options: { features: [audit(() => ({ narrow: narrow as never }))] },
    });
    t.equal((await app.inject('/books')).statusCode, 500);
    t.equal((await app.inject('/books/1')).statusCode, 500);
  }
  let calls = 0;
  const anew = audit(() => ({
    narrow: () => {
      calls++;
      return QuerySet.of(orm.em, Book)
        .filter({ title__in: ['Ash', 'Birch'] })
        .orderBy('-title') as never;
    },
  }));
  const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], { options: { features: [anew] } });
  const { results } = (await app.inject('/books')).json<{ results: unknown[] }>();
  t.strictSame(results, [{ id: 2, title: 'Birch' }], 'a query set of all records is limited to those of the view');
  t.equal(calls, 1, 'once for each request');
});

t.test('an action of a feature finds the record of its path', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  await fillLibrary(orm);
  const titled = audit((view) => ({
    actions: new Map([
      [
        'shout',
        action({ methods: ['post'], detail: true }, async (request) => {
          const book = (await view.getObject(request)) as { title: string };
          book.title = book.title.toUpperCase();
          return {};
        }),
      ],
    ]),
  }));
  class BookViewSet extends ModelViewSet(Book, { read, write, audited: true }) {}
  const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], { options: { features: [titled] } });
  t.equal((await app.inject({ method: 'POST', url: '/books/1/shout' })).statusCode, 200);
  t.equal((await app.inject('/books/1')).json<{ title: string }>().title, 'ASH');
  t.equal((await app.inject({ method: 'POST', url: '/books/99/shout' })).statusCode, 404);
});

async function errorOfOptions(t: Test, orm: Parameters<typeof testApp>[1], options: object): Promise<string> {
  try {
    await testApp(t, orm, [], { options });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
