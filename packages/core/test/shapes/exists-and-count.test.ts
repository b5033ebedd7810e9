/** Values that related records tell of a record: if there are any (`exists`), and how many (`count`). */
import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import {
  action,
  count,
  CursorPagination,
  exists,
  getCurrentUser,
  many,
  ModelViewSet,
  type OutputOf,
  readShape,
  Router,
  writeShape,
} from '../../src/index.ts';
import { recordQueries } from '../query/record-queries.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';

const User = defineEntity({
  name: 'User',
  properties: {
    id: p.integer().primary(),
    name: p.string().unique(),
    followers: () => p.manyToMany(User),
    articles: () => p.oneToMany(Article).mappedBy('author'),
    favorites: () => p.manyToMany(Article).mappedBy('favoritedBy'),
  },
});

const Comment = defineEntity({
  name: 'Comment',
  properties: {
    id: p.integer().primary(),
    likes: p.integer().default(0),
    hidden: p.boolean().default(false),
    article: () => p.manyToOne(Article),
  },
  filters: { shown: { name: 'shown', cond: { hidden: false }, default: true } },
});

const Article = defineEntity({
  name: 'Article',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    author: () => p.manyToOne(User).nullable(),
    favoritedBy: () => p.manyToMany(User),
    comments: () => p.oneToMany(Comment).mappedBy('article'),
  },
});

type Article = InferEntity<typeof Article>;

const USERS = ['ada', 'bob', 'cyd'] as const;
const TITLES = ['Ash', 'Bay', 'Cob', 'Dew', 'Elm', 'Fig', 'Gum'] as const;
/** The places of the authors, of those that like each article, and the likes of its comments; a negative one is hidden. */
const FACTS: readonly (readonly [author: number | null, likedBy: readonly number[], comments: readonly number[]])[] = [
  [0, [0, 1], [3, 9, -5]],
  [1, [2], []],
  [null, [], [1]],
  [1, [0, 1, 2], [-7]],
  [2, [0], [9, 9]],
  [0, [], []],
  [2, [1, 2], [2, 3, 4]],
];
/** Who follows whom. */
const FOLLOWERS: readonly (readonly number[])[] = [[], [0, 2], [0]];

async function fill(orm: MikroORM): Promise<void> {
  const em = orm.em.fork();
  const users: InferEntity<typeof User>[] = [];
  for (const name of USERS) {
    users.push(em.create(User, { name }));
    await em.flush();
  }
  for (const [index, followers] of FOLLOWERS.entries()) users[index]!.followers.add(followers.map((id) => users[id]!));
  await em.flush();
  for (const [index, [author, likedBy, comments]] of FACTS.entries()) {
    const article = em.create(Article, {
      title: TITLES[index]!,
      author: author === null ? null : users[author]!,
    });
    article.favoritedBy.add(likedBy.map((id) => users[id]!));
    for (const likes of comments) em.create(Comment, { likes: Math.abs(likes), hidden: likes < 0, article });
    await em.flush();
  }
}

function isMe(request: FastifyRequest) {
  const user = getCurrentUser(request);
  return user && { name: user.role!.name };
}

const author = readShape(User, ['name'], { following: exists('followers', isMe), articles: count('articles') });
const read = readShape(Article, ['id', 'title'], {
  favorited: exists('favoritedBy', isMe),
  favorites: count('favoritedBy'),
  followed: exists('author.followers', isMe),
  comments: count('comments'),
  liked_comments: count('comments', { likes__gte: 3, likes__lt: 100 }),
  author,
});
const write = writeShape(Article, ['title', 'author']);

class ArticleViewSet extends ModelViewSet(Article, {
  read,
  write,
  etags: true,
  orderingFields: { favorites: count('favoritedBy'), favorited: exists('favoritedBy', isMe), title: 'title' },
  filterFields: {
    favorited: exists('favoritedBy', isMe),
    favorites: count('favoritedBy'),
    min_favorites: [count('favoritedBy'), 'gte'],
    some_favorites: [count('favoritedBy'), 'in'],
    commented: exists('comments'),
    title: 'title',
  },
  exports: ['csv'],
}) {
  bare = action({ detail: true }, async (request) => this.represent(await this.getObject(request), request));
  several = action({}, async (request) => {
    const articles = await this.getQueryset(request).entities({ populate: ['author'] });
    return { articles: articles.map((article) => this.represent(article, request)) };
  });
  like = action({ detail: true, methods: ['post'] }, async (request) => {
    const article = await this.getObject(request);
    article.favoritedBy.add(await request.em.findOneOrFail(User, { name: getCurrentUser(request)!.role!.name }));
    return this.represent(article, request);
  });
  early = action({ detail: true }, async (request) => ({
    ...this.represent(await this.getObject(request), request),
    title: '',
  }));
  withoutRequest = action({ detail: true }, async (request) => this.represent(await this.getObject(request)));
  loaded = action({ detail: true }, async (request) => {
    const article = await this.getObject(request);
    await request.em.populate(article, ['author']);
    await this.loadRelated(request, article);
    return this.represent(article, request);
  });
  all = action({}, async (request) => this.rows(this.getQueryset(request), request));
  unasked = action({}, async (request) => this.rows(this.getQueryset(request)));
}

class UpdatingViewSet extends ModelViewSet(Article, { read, write }) {
  override async update(request: FastifyRequest, reply: FastifyReply) {
    await super.update(request, reply);
    return this.represent(await this.getObject(request), request);
  }
}

class RepresentedViewSet extends ModelViewSet(Article, { read, write }) {
  override represent(article: Article, request?: FastifyRequest) {
    return { ...super.represent(article, request), title: article.title.toUpperCase() };
  }

  bare = action({ detail: true }, async (request) => this.represent(await this.getObject(request), request));
}

class PagedViewSet extends ModelViewSet(Article, {
  read: readShape(Article, ['id'], { favorites: count('favoritedBy') }),
  pagination: CursorPagination,
  orderingFields: {
    favorites: count('favoritedBy'),
    of_ada: count('favoritedBy', { name: 'ada' }),
    favorited: exists('favoritedBy', isMe),
  },
  pageSize: 2,
}) {}

class UserViewSet extends ModelViewSet(User, {
  read: readShape(User, ['name'], {
    written: many(readShape(Article, ['id'], { favorited: exists('favoritedBy', isMe), likes: count('favoritedBy') }), {
      from: 'articles',
    }),
    liked: count('favorites', { title__ne: 'Ash' }),
  }),
}) {}

class KeptViewSet extends ModelViewSet(User, {
  read: readShape(User, ['id'], { liked: count('favorites', { title__ne: 'Ash' }) }),
}) {}

class ExpandingViewSet extends ModelViewSet(Article, {
  read: readShape(Article, ['id']),
  expand: { favorites: count('favoritedBy'), favorited: exists('favoritedBy', isMe) },
}) {}

type Answer = OutputOf<typeof read>;

/** What an article has to be for a user. */
function expected(index: number, user: string | undefined): Answer {
  const me = USERS.indexOf(user as never);
  const [by, likedBy, comments] = FACTS[index]!;
  const shown = comments.filter((likes) => likes > 0);
  return {
    id: index + 1,
    title: TITLES[index]!,
    favorited: likedBy.includes(me),
    favorites: likedBy.length,
    followed: by !== null && FOLLOWERS[by]!.includes(me),
    comments: shown.length,
    liked_comments: shown.filter((likes) => likes >= 3).length,
    author:
      by === null
        ? null
        : {
            name: USERS[by]!,
            following: FOLLOWERS[by]!.includes(me),
            articles: FACTS.filter(([other]) => other === by).length,
          },
  };
}

forEachDatabase(t, { entities: [User, Article, Comment] }, async (t, orm, database) => {
  await fill(orm);
  const router = new Router()
    .register('articles', ArticleViewSet)
    .register('updating', UpdatingViewSet)
    .register('represented', RepresentedViewSet)
    .register('paged', PagedViewSet)
    .register('users', UserViewSet)
    .register('kept', KeptViewSet)
    .register('expanding', ExpandingViewSet);
  const app = await testApp(t, orm, [router], { options: { secret: 'a secret that is thirty-two bytes' } });
  const ask = async (url: string, user?: string, more: object = {}) =>
    app.inject({ url, headers: user === undefined ? {} : { 'x-user': user }, ...more });
  const get = async (url: string, user?: string): Promise<unknown> => {
    const response = await ask(url, user);
    if (response.statusCode !== 200) throw new Error(response.body);
    return response.json();
  };
  const idsOf = async (url: string, user?: string): Promise<number[]> =>
    ((await get(url, user)) as { results: { id: number }[] }).results.map(({ id }) => id);

  t.test('lists and records contain the values for each user', async (t) => {
    for (const user of [undefined, ...USERS, 'nobody']) {
      const all = TITLES.map((_, index) => expected(index, user));
      t.strictSame(((await get('/articles', user)) as { results: unknown }).results, all, user ?? 'without a user');
      t.strictSame(await get('/articles/4', user), all[3]);
      t.strictSame(await get('/articles/all', user), all);
    }
  });

  t.test('in the statement of the list', async (t) => {
    const recorded = recordQueries(orm);
    await get('/articles', 'ada');
    recorded.stop();
    t.equal(recorded.texts.length, 1);
    if (database !== 'mongodb') t.notMatch(recorded.texts.join(), /ada/, 'values are bound');
  });

  t.test('views that represent entities', async (t) => {
    const recorded = recordQueries(orm);
    const { results } = (await get('/represented', 'bob')) as { results: unknown };
    recorded.stop();
    t.strictSame(
      results,
      TITLES.map((title, index) => ({ ...expected(index, 'bob'), title: title.toUpperCase() })),
    );
    t.ok(recorded.texts.length <= 4, `${recorded.texts.length} statements for 7 records`);
    t.strictSame(await get('/represented/7', 'cyd'), { ...expected(6, 'cyd'), title: 'GUM' });
  });

  t.test('actions', async (t) => {
    t.strictSame(await get('/articles/4/loaded', 'cyd'), expected(3, 'cyd'));
    t.strictSame(await get('/articles/4/bare', 'cyd'), expected(3, 'cyd'));
    const { articles } = (await get('/articles/several', 'ada')) as { articles: unknown };
    t.strictSame(
      articles,
      TITLES.map((_, index) => expected(index, 'ada')),
    );
    for (const [url, statements] of [
      ['/articles/4/bare', 2],
      ['/articles/several', 2],
    ] as const) {
      const recorded = recordQueries(orm);
      await get(url, 'cyd');
      recorded.stop();
      t.equal(recorded.texts.length, statements, `${url}: the values of all records by one statement`);
    }
    for (const url of ['/articles/4/early', '/articles/4/without-request', '/represented/4/bare']) {
      t.equal((await ask(url, 'cyd')).statusCode, 500, `${url}: a value that was not read does not pass for none`);
    }
    t.equal((await ask('/articles/unasked', 'cyd')).statusCode, 500, 'nor does one without the request');
  });

  t.test('an action returns the changed values of its record', async (t) => {
    const liked = await ask('/articles/6/like', 'bob', { method: 'POST' });
    t.strictSame(liked.json(), { ...expected(5, 'bob'), favorited: true, favorites: 1 });
    const em = orm.em.fork();
    const article = await em.findOneOrFail(Article, 6, { populate: ['favoritedBy'] });
    article.favoritedBy.removeAll();
    await em.flush();
    const headers = { 'x-user': 'bob' };
    const updated = await app.inject({ method: 'PATCH', url: '/updating/6', payload: { title: 'Fig' }, headers });
    t.strictSame(updated.json(), expected(5, 'bob'));
  });

  t.test('order', async (t) => {
    const byCount = (sign: number) =>
      FACTS.map(([, likedBy], index) => [likedBy.length, index + 1] as const)
        .toSorted(([a, i], [b, j]) => sign * (a - b) || i - j)
        .map(([, id]) => id);
    t.strictSame(await idsOf('/articles?sort=favorites'), byCount(1));
    t.strictSame(await idsOf('/articles?sort=-favorites'), byCount(-1));
    t.strictSame(await idsOf('/articles?sort=-favorited', 'cyd'), [2, 4, 7, 1, 3, 5, 6]);
    t.strictSame(await idsOf('/articles?sort=-favorited,-title', 'cyd'), [7, 4, 2, 6, 5, 3, 1]);
  });

  t.test('filters', async (t) => {
    t.strictSame(await idsOf('/articles?favorited=true', 'cyd'), [2, 4, 7]);
    t.strictSame(await idsOf('/articles?favorited=false', 'cyd'), [1, 3, 5, 6]);
    t.strictSame(await idsOf('/articles?favorited=true'), []);
    t.strictSame(await idsOf('/articles?favorites=0'), [3, 6]);
    t.strictSame(await idsOf('/articles?min_favorites=2&sort=-favorites'), [4, 1, 7]);
    t.strictSame(await idsOf('/articles?some_favorites=0,3'), [3, 4, 6]);
    t.strictSame(await idsOf('/articles?commented=true'), [1, 3, 5, 7], 'hidden comments are none');
    t.equal((await ask('/articles?favorites=many')).statusCode, 400);
    t.equal((await ask('/articles?favorites=99999999999')).statusCode, 400);
    t.equal((await ask('/articles?favorited=1')).statusCode, 400);
    const { count: total } = (await get('/articles?favorited=true&page_size=1', 'cyd')) as { count: number };
    t.equal(total, 3);
  });

  for (const [sort, user] of [
    ['favorites', undefined],
    ['-favorites', undefined],
    ['-favorited,favorites', 'ada'],
  ] as const) {
    t.test(`pages by cursor, ${sort}`, async (t) => {
      const seen: number[] = [];
      const backwards: number[][] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const page = (await get(`/paged?sort=${sort}${cursor && `&cursor=${cursor}`}`, user)) as {
          results: { id: number }[];
          next_cursor: string | null;
          previous_cursor: string | null;
        };
        const ids = page.results.map(({ id }) => id);
        if (page.previous_cursor !== null) {
          const before = await idsOf(`/paged?sort=${sort}&cursor=${page.previous_cursor}`, user);
          t.strictSame(before, backwards.at(-1));
        }
        backwards.push(ids);
        seen.push(...ids);
        cursor = page.next_cursor;
      }
      t.strictSame(seen, await idsOf(`/paged?sort=${sort}&page_size=50`, user));
      t.equal(new Set(seen).size, FACTS.length);
    });
  }

  t.test('a cursor is of one sort, though another counts records of the same relation', async (t) => {
    const { next_cursor: cursor } = (await get('/paged?sort=-favorites')) as { next_cursor: string };
    t.equal((await ask(`/paged?sort=-favorites&cursor=${cursor}`)).statusCode, 200);
    t.equal((await ask(`/paged?sort=-of_ada&cursor=${cursor}`)).statusCode, 400);
  });

  t.test('within records of a relation to many', async (t) => {
    t.strictSame(await get('/users/3', 'ada'), {
      name: 'cyd',
      written: [
        { id: 5, favorited: true, likes: 1 },
        { id: 7, favorited: false, likes: 2 },
      ],
      liked: 3,
    });
    const recorded = recordQueries(orm);
    await get('/users', 'bob');
    await get('/users', 'bob');
    recorded.stop();
    t.ok(recorded.texts.length <= 6, 'no statement for each record');
  });

  t.test('a statement that is kept has the values of each call', async (t) => {
    for (const id of [1, 2, 3, 1, 2, 3]) {
      const favorites = FACTS.filter(
        ([, likedBy], index) => likedBy.includes(id - 1) && TITLES[index] !== 'Ash',
      ).length;
      t.match(await get(`/users/${id}`), { name: USERS[id - 1], liked: favorites });
      t.strictSame(await get(`/kept/${id}`), { id, liked: favorites });
    }
  });

  t.test('fields that clients expand', async (t) => {
    t.strictSame(await get('/expanding/1?expand=favorites,favorited', 'bob'), { id: 1, favorites: 2, favorited: true });
    t.strictSame(await get('/expanding/2?expand=favorited&fields=favorited', 'bob'), { favorited: false });
  });

  t.test('exports', async (t) => {
    const rows = (await ask('/articles.csv', 'ada')).body.trim().split('\r\n');
    t.match(rows[0], /^id,title,favorited,favorites,/);
    t.match(rows[4], /^4,Dew,true,3,true,/);
  });

  t.test('ETags of a record differ between users if its values do', async (t) => {
    const [ada, bob, cyd] = await Promise.all(USERS.map((user) => ask('/articles/1', user)));
    t.not(ada!.headers.etag, undefined);
    t.not(ada!.headers.etag, cyd!.headers.etag);
    const etag = String(cyd!.headers.etag);
    t.equal((await ask('/articles/1', 'cyd', { headers: { 'x-user': 'cyd', 'if-none-match': etag } })).statusCode, 304);
    const stale = await ask('/articles/1', 'bob', { headers: { 'x-user': 'bob', 'if-none-match': etag } });
    t.equal(stale.statusCode, 200);
    t.strictSame(bob!.json(), expected(0, 'bob'));
    const method = 'PATCH';
    const payload = { title: 'Ash' };
    const wrong = await app.inject({
      method,
      url: '/articles/1',
      payload,
      headers: { 'x-user': 'bob', 'if-match': etag },
    });
    t.equal(wrong.statusCode, 412);
    const right = await app.inject({
      method,
      url: '/articles/1',
      payload,
      headers: { 'x-user': 'cyd', 'if-match': etag },
    });
    t.strictSame(right.json(), expected(0, 'cyd'));
  });

  t.test('responses of POST and PATCH', async (t) => {
    const headers = { 'x-user': 'ada' };
    const created = await app.inject({
      method: 'POST',
      url: '/articles',
      headers,
      payload: { title: 'Hop', author: 2 },
    });
    t.equal(created.statusCode, 201, created.body);
    t.match(created.json(), {
      favorited: false,
      favorites: 0,
      followed: true,
      comments: 0,
      author: { name: 'bob', following: true, articles: 3 },
    });
    const { id } = created.json<{ id: number }>();
    const represented = await app.inject({
      method: 'PUT',
      url: `/represented/${id}`,
      headers,
      payload: { title: 'Hop', author: 1 },
    });
    t.match(represented.json(), { title: 'HOP', favorites: 0, followed: false, author: { name: 'ada', articles: 3 } });
    await app.inject({ method: 'DELETE', url: `/articles/${id}`, headers });
  });
});

t.test('declarations that do not fit', async (t) => {
  t.throws(
    () => readShape(Article, ['id'], { likes: count('author' as never) }),
    /Article.author does not lead to many/,
  );
  t.throws(() => readShape(Article, ['id'], { likes: count('favoritedby' as never) }), /did you mean "favoritedBy"/);
  t.throws(() => exists(5 as never), /exists\(\): option "path" must be the path of a relation to many, first/);
  t.throws(
    () => count<Article, 'comments'>('comments', 5 as never),
    /count\(\): option "conditions" must be lookups or a function/,
  );
  const orm = await openSqlite(t, { entities: [User, Article, Comment] });
  const problemOf = async (options: object): Promise<string | undefined> =>
    errorAtStart(t, orm, ModelViewSet(Article, { read: readShape(Article, ['id']), ...options }));
  const shown = (source: unknown) => ({ read: readShape(Article, ['id'], { shown: source } as never) });
  t.match(
    await problemOf(shown(count<Article, 'comments'>('comments', { like: 1 } as never))),
    /Article: count\("comments"\): .*did you mean "likes"/,
  );
  t.match(
    await problemOf(shown(count<Article, 'comments'>('comments', { likes: 'x' } as never))),
    /count\("comments"\): must be a number/,
  );
  t.match(
    await problemOf(shown(exists('favoritedBy.articles' as never))),
    /"favoritedBy" is a to-many relation, and only the last/,
  );
  t.match(
    await problemOf({ filterFields: { few: [count<Article, 'comments'>('comments'), 'icontains'] } }),
    /filterFields "few": .*has no "icontains"/,
  );
  t.match(await problemOf({ filterFields: { few: ['comments', 'gte'] } }), /filterFields/);
  t.match(
    await problemOf({ orderingFields: { few: count('author' as never) } }),
    /"author" does not lead to many records/,
  );
});
