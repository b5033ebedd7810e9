/** Views that are nested in others: whose records they show, write and name, and that nothing is told of hidden parents. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest, InjectOptions } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  CursorPagination,
  getCurrentUser,
  IsAuthenticated,
  IsSafeMethodOnly,
  IPRateLimit,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  requireUser,
  Router,
  ViewSet,
  type WriteData,
  type InputOf,
  writeShape,
} from '../../src/index.ts';
import { recordQueries } from '../query/record-queries.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const AuthorSchema = defineEntity({
  name: 'Author',
  properties: {
    id: p.integer().primary(),
    slug: p.string().length(20).unique(),
    owner: p.string().nullable(),
    gone: p.boolean().default(false),
  },
});
class Author extends AuthorSchema.class {}
AuthorSchema.setClass(Author);

const TagSchema = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary(), name: p.string().unique() },
});
class Tag extends TagSchema.class {}
TagSchema.setClass(Tag);

const BookSchema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20),
    author: () => p.manyToOne(Author).deleteRule('cascade'),
    editor: () => p.manyToOne(Author).mapToPk().nullable(),
    tags: () => p.manyToMany(Tag),
  },
});
class Book extends BookSchema.class {}
BookSchema.setClass(Book);

const NoteSchema = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.string(), book: () => p.manyToOne(Book).deleteRule('cascade') },
});
class Note extends NoteSchema.class {}
NoteSchema.setClass(Note);

const readAuthor = readShape(Author, ['id', 'slug']);
const readBook = readShape(Book, ['id', 'title'], { author: 'author.id' });
const writeBook = writeShape(Book, ['title', 'author']);

class AuthorViewSet extends ModelViewSet(Author, { read: readAuthor, write: writeShape(Author, ['slug']) }) {
  best = action({}, () => ({ best: 'all' }));
}
class BookViewSet extends ModelViewSet(Book, {
  read: readBook,
  write: writeBook,
  etags: true,
  referencePermissions: { author: [IsAuthenticated] },
  searchFields: ['title'],
  orderingFields: { title: 'title' },
}) {
  titles = action({ response: Type.Array(Type.String()) }, async (request) => {
    return (await this.rows(this.getQueryset(request))).map(({ title }) => title);
  });
  shout = action({ detail: true, methods: ['post'], response: Type.String() }, async (request) => {
    return (await this.getObject(request)).title.toUpperCase();
  });
}
class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'text']),
  write: writeShape(Note, ['text']),
}) {}

/** Shows everybody the authors that nobody owns, and to each user theirs. */
class OwnedOrNobodys extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    const { name } = (getCurrentUser(request)?.role ?? { name: '' }) as { name: string };
    return this.records<Author>(view, { owner__in: [null, name] });
  }
}
class OwnedAuthorViewSet extends ModelViewSet(Author, { read: readAuthor, permissionClasses: [OwnedOrNobodys] }) {}

/** Notes what the view was asked. */
const asked: unknown[] = [];
class NotesEverything extends Permission {
  override hasPermission(request: FastifyRequest, view: PermissionView) {
    asked.push([request.method, view.getAction(request), request.params, view.name]);
    return true;
  }
}
class RecordingAuthorViewSet extends ModelViewSet(Author, {
  read: readAuthor,
  permissionClasses: [NotesEverything, IsSafeMethodOnly],
}) {
  override getQueryset(request: FastifyRequest) {
    return super.getQueryset(request).filter({ slug__ne: 'hidden' });
  }
}
class MembersAuthorViewSet extends ModelViewSet(Author, { read: readAuthor, permissionClasses: [IsAuthenticated] }) {}
/** Answers for nobody but whoever is logged in, by an error of its own. */
class OfUser extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return this.records<Author>(view, { owner__ne: String(requireUser(request).id) });
  }
}
class OfUserAuthorViewSet extends ModelViewSet(Author, { read: readAuthor, permissionClasses: [OfUser] }) {}
class NoBadAuthor extends Permission {
  override hasObjectPermission(_request: FastifyRequest, _view: PermissionView, author: Author) {
    return author.slug !== 'bad';
  }
}
class CheckedAuthorViewSet extends ModelViewSet(Author, { read: readAuthor, permissionClasses: [NoBadAuthor] }) {}
class NoSecondAuthor extends Permission {
  override hasObjectPermission(_request: FastifyRequest, _view: PermissionView, author: Author): boolean {
    if (author.id === 2) throw Object.assign(new Error('Not this one'), { statusCode: 403 });
    return true;
  }
}
class RefusedAuthorViewSet extends ModelViewSet(Author, { read: readAuthor, permissionClasses: [NoSecondAuthor] }) {}
class SlugAuthorViewSet extends ModelViewSet(Author, { read: readAuthor, lookupField: 'slug' }) {}
class TagViewSet extends ModelViewSet(Tag, { read: readShape(Tag, ['id', 'name']), lookupField: 'name' }) {}

class HookedBookViewSet extends ModelViewSet(Book, { read: readBook, write: writeShape(Book, ['title']) }) {
  override performCreate(request: FastifyRequest, data: WriteData<Book, InputOf<ReturnType<typeof titleOnly>>>) {
    const { slug } = data.author as unknown as Author;
    return super.performCreate(request, { ...data, title: `${data.title} by ${slug}` });
  }
}
const titleOnly = () => writeShape(Book, ['title']);

class FilledBookViewSet extends ModelViewSet(Book, {
  read: readBook,
  write: writeShape(Book, ['title']),
  fill: { author: () => 1 },
  validate: (data, problems) => {
    if (data.title === 'no') problems.add('/title', 'must not be no');
  },
}) {}

/** Several shapes each: what is decided about the answer of one view says nothing about that of another. */
class ShapedAuthorViewSet extends ModelViewSet(Author, {
  read: { default: readAuthor, list: readShape(Author, ['slug']) },
  permissionClasses: [OwnedOrNobodys],
}) {}
class ShapedBookViewSet extends ModelViewSet(Book, {
  read: {
    default: readShape(Book, ['id', 'title'], { author: readAuthor }),
    list: readShape(Book, ['id']),
  },
  write: writeShape(Book, ['title']),
}) {}

class StatsViewSet extends ViewSet {
  override list(request: FastifyRequest) {
    return { of: (request.params as { author: string }).author };
  }
}

type Method = NonNullable<InjectOptions['method']>;

interface Shown {
  id: number;
  title: string;
  author: number;
}

forEachDatabase(t, { entities: [Author, Tag, Book, Note] }, async (t, orm) => {
  const em = orm.em.fork();
  const [ash, birch, elm] = ['ash', 'birch', 'elm'].map((slug) => em.create(Author, { slug }));
  em.create(Author, { slug: 'hers', owner: 'ada' });
  em.create(Author, { slug: 'hidden' });
  em.create(Author, { slug: 'bad' });
  await em.flush();
  const tea = em.create(Tag, { name: 'tea' });
  em.create(Tag, { name: 'empty' });
  const books = ['One', 'Two'].map((title) => em.create(Book, { title, author: ash!, tags: [tea] }));
  em.create(Book, { title: 'Three', author: birch! });
  em.create(Book, { title: 'Hers', author: 4 });
  em.create(Book, { title: 'Hidden', author: 5 });
  em.create(Book, { title: 'Bad', author: 6 });
  await em.flush();
  em.create(Note, { text: 'of one', book: books[0]! });
  em.create(Note, { text: 'of two', book: books[1]! });
  await em.flush();
  t.strictSame([ash!.id, birch!.id, elm!.id], [1, 2, 3]);

  const router = new Router({ prefix: 'api' })
    .register('books', BookViewSet)
    .register('authors', AuthorViewSet)
    .register('authors/:author/books', BookViewSet)
    .register('authors/:author/books/:book/notes', NoteViewSet)
    .register('authors/:author/filled', FilledBookViewSet)
    .register('authors/:author/stats', StatsViewSet)
    .register('editors', AuthorViewSet)
    .register('editors/:editor/books', BookViewSet)
    .register('owned', OwnedAuthorViewSet)
    .register('owned/:author/books', BookViewSet)
    .register('owned/:author/books/:book/notes', NoteViewSet)
    .register('asking', RecordingAuthorViewSet)
    .register('asking/:author/books', BookViewSet)
    .register('shaped', ShapedAuthorViewSet)
    .register('shaped/:author/books', ShapedBookViewSet)
    .register('members', MembersAuthorViewSet)
    .register('members/:author/books', BookViewSet)
    .register('of-user', OfUserAuthorViewSet)
    .register('of-user/:author/books', BookViewSet)
    .register('judged', CheckedAuthorViewSet)
    .register('judged/:author/books', BookViewSet)
    .register('slugs', SlugAuthorViewSet)
    .register('slugs/:author/books', HookedBookViewSet)
    .register('people/writers', AuthorViewSet)
    .register('people/writers/:writer/books', BookViewSet, { parent: 'author', basename: 'written' })
    .register('tags', TagViewSet)
    .register('tags/:tag/books', BookViewSet, { parent: 'tags' });
  const app = await testApp(t, orm, [router]);
  const send = async (method: Method, url: string, payload?: object, user = 'ada') => {
    const headers = user === '' ? {} : { 'x-user': user };
    const response = await app.inject({ method, url: `/api${url}`, headers, ...(payload && { payload }) });
    return {
      status: response.statusCode,
      headers: response.headers,
      location: response.headers.location,
      payload: response.payload,
      json: () => response.json(),
    };
  };
  const titles = async (url: string, user = 'ada') => {
    const response = await send('GET', url, undefined, user);
    return response.status === 200
      ? (response.json() as { results: Shown[] }).results.map(({ title }) => title)
      : response.status;
  };
  const EVERY = ['GET', 'HEAD', 'POST'] as const;
  const OF_ONE = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const;
  const statuses = (url: string, user?: string) =>
    Promise.all([
      ...EVERY.map(
        async (method) => (await send(method, url, method === 'POST' ? { title: 'x' } : undefined, user)).status,
      ),
      ...OF_ONE.map(
        async (method) => (await send(method, `${url}/1`, method[0] === 'P' ? { title: 'x' } : undefined, user)).status,
      ),
      (async () => (await send('GET', `${url}/titles`, undefined, user)).status)(),
      (async () => (await send('POST', `${url}/1/shout`, undefined, user)).status)(),
    ]);
  const NOT_FOUND = Array.from({ length: 10 }, () => 404);

  t.test('different shapes of a view and of its parent are distinguished', async (t) => {
    const made = await send('POST', '/shaped/1/books', { title: 'Shaped' });
    t.equal(made.status, 201, made.payload);
    t.match(made.json(), { title: 'Shaped', author: { id: 1 } });
    t.equal((await send('PATCH', made.location!.replace('/api', ''), { title: 'Again' })).status, 200);
    t.equal((await send('DELETE', made.location!.replace('/api', ''))).status, 204);
    t.equal((await send('POST', '/shaped/4/books', { title: 'Shaped' }, 'bob')).status, 404);
  });

  t.test('a nested list contains only the records of its parent, filtered and paginated', async (t) => {
    t.strictSame(await titles('/authors/1/books'), ['One', 'Two']);
    t.strictSame(await titles('/authors/2/books'), ['Three']);
    t.strictSame(await titles('/authors/3/books'), [], 'a parent without records');
    t.strictSame(await titles('/authors/1/books?search=tw'), ['Two']);
    t.strictSame(await titles('/authors/1/books?search=none'), []);
    t.strictSame(await titles('/authors/1/books?sort=-title&page_size=1&page=2'), ['One']);
    t.strictSame(await titles('/authors/1/books?page=9'), []);
    t.strictSame((await send('GET', '/authors/1/books/titles')).json(), ['One', 'Two'], 'an action');
    t.equal((await send('GET', '/authors/1/books/2')).json().title, 'Two');
    t.equal((await send('POST', '/authors/1/books/2/shout')).payload, 'TWO');
    t.strictSame((await send('GET', '/authors/1/stats')).json(), { of: '1' }, 'a view without an entity');
  });

  t.test('a cursor of one parent is rejected by another one', async (t) => {
    class AuthorViewSet extends ModelViewSet(Author, { read: readShape(Author, ['id']) }) {}
    class BookViewSet extends ModelViewSet(Book, {
      read: readShape(Book, ['id']),
      pagination: CursorPagination,
      queryMethod: true,
    }) {
      paged = action({}, (request) => this.paginate(request, this.getQueryset(request)));
    }
    const router = new Router().register('authors', AuthorViewSet).register('authors/:author/books', BookViewSet);
    const app = await testApp(t, orm, [router], { options: { secret: 'a secret that is thirty-two bytes' } });
    const em = orm.em.fork();
    for (const author of [1, 1, 2, 2]) em.create(Book, { title: 'of a cursor', author });
    await em.flush();
    t.teardown(() => orm.em.fork().nativeDelete(Book, { title: 'of a cursor' }));
    for (const url of ['/authors/%/books', '/authors/%/books/paged']) {
      const first = await app.inject(`${url.replace('%', '1')}?page_size=1`);
      const cursor = first.json<{ next_cursor: string }>().next_cursor;
      const status = async (author: string) =>
        (await app.inject(`${url.replace('%', author)}?page_size=1&cursor=${cursor}`)).statusCode;
      t.same([await status('1'), await status('2')], [200, 400], url);
    }
    const asked = { method: 'QUERY' as 'GET', payload: { page_size: 1 } };
    const { next_cursor: cursor } = (await app.inject({ ...asked, url: '/authors/1/books' })).json();
    const next = async (url: string) => (await app.inject({ ...asked, url, payload: { cursor } })).statusCode;
    t.same([await next('/authors/1/books'), await next('/authors/2/books')], [200, 400], 'nor by QUERY');
  });

  t.test('a missing parent, or a parent of another record, returns 404', async (t) => {
    t.strictSame(await statuses('/authors/99/books'), NOT_FOUND);
    t.strictSame(await statuses('/authors/x/books'), NOT_FOUND);
    t.strictSame(await statuses('/authors/99999999999/books'), NOT_FOUND);
    t.equal((await send('GET', '/authors/99/stats')).status, 404);
    t.equal((await send('GET', '/authors/best/books')).status, 404);
    for (const method of OF_ONE) {
      t.equal((await send(method, '/authors/2/books/1', {})).status, method === 'PUT' ? 400 : 404);
    }
    t.equal((await send('POST', '/authors/2/books/1/shout')).status, 404);
    t.strictSame(await titles('/authors/1/books'), ['One', 'Two']);
  });

  t.test('create sets the parent from the path, not from the body, and update keeps it', async (t) => {
    const made = await send('POST', '/authors/3/books', { title: 'New', author: 1 });
    t.equal(made.status, 201);
    const { id } = made.json();
    t.strictSame(made.json(), { id, title: 'New', author: 3 });
    t.equal(made.location, `/api/authors/3/books/${id}`);
    t.ok(made.headers.etag);
    const url = `/authors/3/books/${id}`;
    t.strictSame((await send('PATCH', url, { title: 'Newer', author: 1 })).json(), { id, title: 'Newer', author: 3 });
    t.strictSame((await send('PUT', url, { title: 'Newest', author: 1 })).json(), { id, title: 'Newest', author: 3 });
    t.equal((await send('PUT', url, { author: 1 })).status, 400, 'the title is required all the same');
    t.equal((await send('PATCH', `/books/${id}`, { author: 2 })).json().author, 2, 'the flat view may move it');
    t.equal((await send('DELETE', url)).status, 404);
    t.equal((await send('DELETE', `/authors/2/books/${id}`)).status, 204);
    const filled = await send('POST', '/authors/3/filled', { title: 'F' });
    t.equal(filled.json().author, 3, 'whatever the view fills in');
    t.equal((await send('DELETE', `/authors/3/filled/${filled.json().id}`)).status, 204);
    t.equal((await send('POST', '/authors/99/filled', { title: 1 })).status, 400, 'the body comes before the look-up');
    t.equal((await send('POST', '/authors/99/filled', { title: 'no' })).status, 404, 'which comes before its rules');
    const edited = await send('POST', '/editors/2/books', { title: 'E', author: 1 });
    t.equal(edited.status, 201, 'a relation that holds the key');
    t.strictSame(await titles('/editors/2/books'), ['E']);
    t.equal((await send('DELETE', `/editors/2/books/${edited.json().id}`)).status, 204);
  });

  t.test('with two levels, every parent must belong to the parent above it', async (t) => {
    const texts = async (url: string) => {
      const response = await send('GET', url);
      return response.status === 200 ? response.json().results.map(({ text }: Note) => text) : response.status;
    };
    t.strictSame(await texts('/authors/1/books/1/notes'), ['of one']);
    t.strictSame(await texts('/authors/1/books/2/notes'), ['of two']);
    t.strictSame(await texts('/authors/2/books/1/notes'), 404);
    t.strictSame(await texts('/authors/99/books/1/notes'), 404);
    t.strictSame(await texts('/authors/2/books/3/notes'), []);
    t.equal((await send('GET', '/authors/1/books/1/notes/2')).status, 404);
    t.equal((await send('GET', '/authors/2/books/1/notes/1')).status, 404);
    t.equal((await send('PATCH', '/authors/2/books/1/notes/1', { text: 'x' })).status, 404);
    t.equal((await send('DELETE', '/authors/2/books/1/notes/1')).status, 404);
    t.equal((await send('POST', '/authors/2/books/1/notes', { text: 'x' })).status, 404);
    t.equal((await send('POST', '/authors/x/books/1/notes', { text: 'x' })).status, 404);
    const made = await send('POST', '/authors/2/books/3/notes', { text: 'new' });
    t.equal(made.location, `/api/authors/2/books/3/notes/${made.json().id}`);
    t.equal(
      (await send('PATCH', `/authors/2/books/3/notes/${made.json().id}`, { text: 'newer' })).json().text,
      'newer',
    );
    t.strictSame(await texts('/authors/2/books/3/notes'), ['newer']);
    t.equal((await send('DELETE', `/authors/2/books/3/notes/${made.json().id}`)).status, 204);
    t.strictSame(await texts('/owned/4/books/4/notes'), []);
    t.equal((await send('GET', '/owned/4/books/4/notes', undefined, 'bob')).status, 404, 'the outermost view hides it');
    t.equal((await send('POST', '/owned/4/books/4/notes', { text: 'x' }, 'bob')).status, 404);
  });

  t.test('a parent that its view hides returns 404', async (t) => {
    t.strictSame(await titles('/owned/4/books'), ['Hers']);
    t.strictSame(await statuses('/owned/4/books', 'bob'), NOT_FOUND, 'hidden by a scope');
    t.strictSame(await titles('/owned/1/books', 'bob'), ['One', 'Two']);
    t.strictSame(await statuses('/asking/5/books'), NOT_FOUND, 'hidden by getQueryset');
    t.strictSame(await statuses('/members/1/books', ''), NOT_FOUND, 'a view that is not for this user');
    t.strictSame(await titles('/members/1/books'), ['One', 'Two']);
    t.strictSame(await statuses('/of-user/1/books', ''), NOT_FOUND, 'a scope that asks who is logged in');
    t.strictSame(await titles('/of-user/1/books'), ['One', 'Two']);
    t.strictSame(await statuses('/judged/6/books'), NOT_FOUND, 'refused by an object permission');
    t.strictSame(await titles('/judged/1/books'), ['One', 'Two']);
    t.strictSame(await titles('/judged/3/books'), []);
    t.equal((await send('GET', '/authors/6/books/6')).status, 200, 'all were there');
  });

  t.test('the view of the parent checks the request like a retrieve of the parent', async (t) => {
    asked.length = 0;
    const made = await send('POST', '/asking/1/books', { title: 'Asked' });
    t.equal(made.status, 201, 'though only safe methods may use that view');
    t.equal((await send('DELETE', `/asking/1/books/${made.json().id}`)).status, 204);
    t.strictSame(asked, [
      ['GET', 'retrieve', { author: '1', pk: '1' }, 'RecordingAuthorViewSet'],
      ['GET', 'retrieve', { author: '1', pk: '1' }, 'RecordingAuthorViewSet'],
    ]);
  });

  t.test('a parent that is refused by an error of another library is like an absent one', async (t) => {
    const refused = await testApp(t, orm, [
      new Router().register('authors', RefusedAuthorViewSet).register('authors/:author/books', BookViewSet),
    ]);
    t.equal((await refused.inject('/authors/2')).statusCode, 403);
    t.equal((await refused.inject('/authors/2/books')).statusCode, 404);
    t.equal((await refused.inject('/authors/1/books')).statusCode, 200);
  });

  t.test('a MikroORM filter that hides the parent hides its children', async (t) => {
    const hidden = await testApp(
      t,
      orm,
      [new Router().register('authors', AuthorViewSet).register('authors/:author/books', BookViewSet)],
      {
        before: (within) => {
          within.addHook('onRequest', async (request) => {
            request.em.addFilter({ name: 'present', cond: { gone: false }, entity: [Author] });
          });
        },
      },
    );
    const gone = orm.em.fork();
    await gone.nativeUpdate(Author, { id: 2 }, { gone: true });
    t.teardown(() => gone.nativeUpdate(Author, { id: 2 }, { gone: false }));
    t.equal((await hidden.inject('/authors/2/books')).statusCode, 404);
    t.equal((await hidden.inject('/authors/2/books/3')).statusCode, 404);
    t.equal(
      (await hidden.inject({ method: 'POST', url: '/authors/2/books', payload: { title: 'x' } })).statusCode,
      404,
    );
    t.equal((await hidden.inject('/authors/1/books')).statusCode, 200);
  });

  t.test('a parent is named as its view names it, and a hook gets it with the data', async (t) => {
    t.strictSame(await titles('/slugs/ash/books'), ['One', 'Two']);
    t.strictSame(await titles('/slugs/elm/books'), []);
    t.strictSame(await titles('/slugs/1/books'), 404);
    const made = await send('POST', '/slugs/elm/books', { title: 'It' });
    t.equal(made.location, `/api/slugs/elm/books/${made.json().id}`);
    t.strictSame([made.json().title, made.json().author], ['It by elm', 3]);
    t.equal((await send('PATCH', `/slugs/elm/books/${made.json().id}`, { title: 'That' })).json().title, 'That');
    t.equal((await send('DELETE', `/slugs/ash/books/${made.json().id}`)).status, 404);
    t.equal((await send('DELETE', `/slugs/elm/books/${made.json().id}`)).status, 204);
  });

  t.test('a parent may be one of many', async (t) => {
    t.strictSame(await titles('/tags/tea/books'), ['One', 'Two']);
    t.strictSame(await titles('/tags/empty/books'), []);
    t.strictSame(await titles('/tags/none/books'), 404);
    const made = await send('POST', '/tags/empty/books', { title: 'Tagged', author: 1 });
    t.equal(made.status, 201);
    t.strictSame(await titles('/tags/empty/books'), ['Tagged']);
    t.equal((await send('PATCH', `/tags/empty/books/${made.json().id}`, { title: 'T' })).json().title, 'T');
    t.equal((await send('PATCH', `/tags/tea/books/${made.json().id}`, { title: 'T' })).status, 404);
    t.equal((await send('DELETE', `/tags/empty/books/${made.json().id}`)).status, 204);
  });

  t.test('statements: a parent is looked up only for want of another proof', async (t) => {
    const count = async (...request: Parameters<typeof send>) => {
      const queries = recordQueries(orm);
      await send(...request);
      queries.stop();
      return queries.texts.length;
    };
    t.equal(await count('GET', '/authors/1/books'), 1);
    t.equal(await count('GET', '/authors/1/books/1/notes'), 1);
    t.equal(await count('GET', '/authors/3/books'), 2, 'an empty list');
    t.equal(await count('GET', '/authors/1/books/1'), 1);
    t.equal(await count('GET', '/slugs/ash/books/1'), 1);
    t.equal(await count('GET', '/owned/1/books'), 2, 'a view that hides records');
  });

  t.test('methods, names, the root', async (t) => {
    const patch = await send('PATCH', '/authors/1/books');
    t.strictSame([patch.status, patch.headers.allow], [405, 'GET, HEAD, POST, OPTIONS']);
    t.equal((await send('POST', '/authors/1/books/1')).headers.allow, 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS');
    t.equal((await send('GET', '/authors/1/books/')).status, 200, 'a trailing slash');
    t.equal(router.reverse('authors-books-detail', { author: 1, pk: 7 }), '/api/authors/1/books/7');
    t.equal(router.reverse('authors-books-notes-list', { author: 1, book: 2 }), '/api/authors/1/books/2/notes');
    t.equal(router.reverse('written-shout', { writer: 1, pk: 7 }), '/api/people/writers/1/books/7/shout');
    t.strictSame(
      Object.keys((await send('GET', '')).json()).filter((path) => path.includes(':')),
      [],
    );
    const ids = app.viewset.operations.map(({ operationId }) => operationId);
    t.equal(new Set(ids).size, ids.length);
    for (const id of [
      'listBooks',
      'listAuthorBooks',
      'createAuthorBook',
      'replaceAuthorBook',
      'titlesAuthorBooks',
      'shoutAuthorBook',
      'listAuthorBookNotes',
      'retrieveAuthorBookNote',
      'listWritten',
    ]) {
      t.ok(ids.includes(id), id);
    }
    const plan = app.viewset.operations.find(({ operationId }) => operationId === 'retrieveAuthorBookNote')!;
    t.equal(plan.documentation.summary, 'Retrieve a note of a book of an author');
    t.strictSame(
      plan.pathParameters.map(({ name, schema }) => [name, (schema as { type?: string }).type]),
      [
        ['author', 'integer'],
        ['book', 'integer'],
        ['pk', 'integer'],
      ],
    );
    const list = app.viewset.operations.find(({ operationId }) => operationId === 'listAuthorBooks')!;
    t.ok(list.responses[404]);
    const create = app.viewset.operations.find(({ operationId }) => operationId === 'createAuthorBook')!;
    t.strictSame(Object.keys((create.body!.schema as { properties: object }).properties), ['title']);
  });

  t.test('the order of checks', async (t) => {
    class Closed extends ModelViewSet(Book, {
      read: readBook,
      write: writeBook,
      permissionClasses: [IsAuthenticated],
      throttles: [new IPRateLimit(2, 60)],
    }) {}
    const closed = await testApp(t, orm, [
      new Router().register('authors', AuthorViewSet).register('authors/:author/books', Closed),
    ]);
    const post = (url: string, user?: string, payload: object = {}) =>
      closed.inject({ method: 'POST', url, payload, ...(user && { headers: { 'x-user': user } }) });
    t.equal((await post('/authors/x/books')).statusCode, 401, 'the permission comes before the form of keys');
    t.equal((await post('/authors/x/books', 'ada')).statusCode, 404, 'the form of keys before the body');
    t.equal((await post('/authors/x/books')).statusCode, 429, 'the throttle before all');
  });

  t.test('a parent that goes while a child is created ends as 404 or 409', async (t) => {
    const going = orm.em.fork();
    for (let round = 0; round < 5; round++) {
      const author = going.create(Author, { slug: `going-${round}` });
      await going.flush();
      const [gone, ...made] = await Promise.all([
        send('DELETE', `/authors/${author.id}`),
        ...['a', 'b', 'c'].map((title) => send('POST', `/authors/${author.id}/books`, { title })),
      ]);
      t.ok([204, 409].includes(gone.status));
      for (const { status } of made) t.ok([201, 404, 409].includes(status), String(status));
    }
  });
});

t.test('mistakes are found at registration', async (t) => {
  const orm = await (await import('../support/databases.ts')).openSqlite(t, { entities: [Author, Tag, Book, Note] });
  t.throws(
    () => new Router().register('authors/:author/books', BookViewSet),
    /"authors\/:author\/books" is nested in "authors", but no view is registered there yet/,
  );
  t.throws(
    () => new Router().register('stats', StatsViewSet).register('stats/:author/books', BookViewSet),
    /StatsViewSet has no entity/,
  );
  // @ts-expect-error a book has no such relation
  const misnamed = new Router().register('authors', AuthorViewSet).register('authors/:writer/books', BookViewSet);
  await t.rejects(
    testApp(t, orm, [misnamed]),
    /BookViewSet: below ":writer" its records need a relation to Author.*one of: author, editor/s,
  );
  const wrong = new Router().register('tags', TagViewSet).register('tags/:author/books', BookViewSet);
  await t.rejects(testApp(t, orm, [wrong]), /need a relation to Tag.*one of: tags/s);
  const option = new Router()
    .register('authors', AuthorViewSet)
    // @ts-expect-error nor has it this one
    .register('authors/:a/books', BookViewSet, { parent: 'writer' });
  await t.rejects(testApp(t, orm, [option]), /no such "writer"/);
  const router = new Router().register('authors', AuthorViewSet);
  for (const path of [
    'authors/:author',
    'authors/:pk/books',
    'authors/:a/:b/books',
    ':a/books',
    'authors/:a/b/:a/c',
    'authors/:a-b/books',
  ]) {
    t.throws(() => router.register(path, BookViewSet), /option "path" must be/, path);
  }
  t.throws(
    () => router.register('books', BookViewSet, { parent: 'author' }),
    /has the option "parent", but no parameter/,
  );
});
