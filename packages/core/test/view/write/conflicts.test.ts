import { defineEntity, p, type InferEntity } from '@mikro-orm/core';
import fastify, { type FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  serverOptions,
  viewset,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';

const Author = defineEntity({
  name: 'Author',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
const Title = defineEntity({
  name: 'Title',
  uniques: [{ properties: ['shelf', 'place'] }],
  checks: [{ name: 'place_below_100', expression: 'place < 100' }],
  properties: {
    id: p.integer().primary(),
    isbn: p.string().length(20).unique(),
    shelf: p.string().length(20).default('a'),
    place: p.integer().fieldName('place').nullable(),
    author: () => p.manyToOne(Author).nullable().deleteRule('restrict'),
  },
});
const Label = defineEntity({
  name: 'Label',
  properties: { id: p.integer().primary(), text: p.string().length(20).unique() },
});

type TitleRecord = InferEntity<typeof Title>;
type Data = WriteData<TitleRecord, { isbn: string; shelf?: string; place?: number | null; author?: number | null }>;

const read = readShape(Title, ['id', 'isbn', 'shelf', 'place']);
const write = writeShape(Title, ['isbn', 'shelf', 'place']);

class TitleViewSet extends ModelViewSet(Title, { read, write }) {
  label = action({ methods: ['post'], body: Type.Object({ text: Type.String() }) }, async (request) => {
    await request.em.insert(Label, { text: request.body.text });
    return {};
  });
  copies = action(
    { methods: ['post'], body: Type.Array(Type.Union([Type.String(), Type.Null()])) },
    async (request) => {
      for (const isbn of request.body) if (isbn !== null) await this.performCreate(request, { isbn });
      return {};
    },
  );
}

class ReferringViewSet extends ModelViewSet(Title, {
  read: readShape(Title, ['id', 'isbn', 'author']),
  write: writeShape(Title, ['isbn', 'shelf', 'place', 'author']),
}) {}

class AuthorViewSet extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name']),
  write: writeShape(Author, ['name']),
}) {}

class HookedAuthorViewSet extends AuthorViewSet {
  override performDestroy(request: FastifyRequest, author: InferEntity<typeof Author>) {
    return super.performDestroy(request, author);
  }
}

/** Each ISBN names what the hook does wrong. */
class FaultyViewSet extends ModelViewSet(Title, { read, write }) {
  override async performCreate(request: FastifyRequest, data: Data) {
    const { em } = request;
    if (data.isbn === 'label before') await em.insert(Label, { text: 'taken' });
    if (data.isbn === 'label along') em.create(Label, { text: 'taken' });
    if (data.isbn === 'another title') await em.insert(Title, { isbn: 'taken' });
    if (data.isbn === 'absent') await em.findOneOrFail(Label, { text: 'nowhere' });
    if (data.isbn === 'no scope') super.getQueryset(request).filter({ place: 'far too long' as never });
    if (data.isbn === 'not a number') await em.nativeUpdate(Title, {}, { place: 1_000_000_000_000 });
    const title = await super.performCreate(request, data);
    if (data.isbn === 'label after') await em.insert(Label, { text: 'taken' });
    return title;
  }
}

/** What a program compares a scope with is no value of the client's. */
class Misjudged extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<TitleRecord>(view, { place: 'not a number' as never });
  }
}

class MisjudgedViewSet extends ModelViewSet(Title, { read, write, permissionClasses: [Misjudged] }) {}

forEachDatabase(t, { entities: [Author, Title, Label], onLibSql: true }, async (t, orm, database) => {
  interface Line {
    readonly level: number;
    readonly constraint?: string;
    readonly err?: { readonly stack: string };
  }
  const lines: Line[] = [];
  const app = fastify(serverOptions({ logger: { stream: { write: (line) => lines.push(JSON.parse(line)) } } }));
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const router = new Router()
    .register('titles', TitleViewSet)
    .register('referring', ReferringViewSet)
    .register('authors', AuthorViewSet)
    .register('hooked-authors', HookedAuthorViewSet)
    .register('faulty', FaultyViewSet)
    .register('misjudged', MisjudgedViewSet);
  await app.register(router.plugin);
  await app.ready();
  const em = orm.em.fork();
  em.create(Label, { text: 'taken' });
  const author = em.create(Author, { name: 'Ada' });
  em.create(Title, { id: 1001, isbn: 'taken', shelf: 'b', place: 1, author });
  em.create(Title, { id: 1002, isbn: 'free', shelf: 'c', place: 1 });
  await em.flush();
  const count = () => orm.em.fork().count(Title);
  const taken = (...paths: string[]) => paths.map((path) => ({ in: 'body', path, message: 'is taken' }));

  for (const path of ['titles', 'referring']) {
    t.test(`a conflict of the record names its fields, on /${path}`, async (t) => {
      for (const [method, url, payload, details] of [
        ['POST', `/${path}`, { isbn: 'taken' }, taken('/isbn')],
        ['POST', `/${path}`, { isbn: 'x', shelf: 'b', place: 1 }, taken('/shelf', '/place')],
        ['PATCH', `/${path}/1002`, { isbn: 'taken' }, taken('/isbn')],
        ['PATCH', `/${path}/1002`, { shelf: 'b' }, taken('/shelf')],
        ['PUT', `/${path}/1002`, { isbn: 'taken', place: 2 }, taken('/isbn')],
      ] as const) {
        const answer = await app.inject({ method, url, payload });
        t.equal(answer.statusCode, 409, answer.body);
        t.equal(answer.json().code, 'conflict');
        t.same(answer.json().details, details);
      }
      t.equal(await count(), 2);
    });
  }

  const withoutChecks = database === 'mongodb' && 'MongoDB has no check constraints';
  t.test('an action whose body is a list of values returns 409 on a conflict', async (t) => {
    const answer = await app.inject({ method: 'POST', url: '/titles/copies', payload: [null, 'taken'] });
    t.equal(answer.statusCode, 409, answer.body);
    lines.length = 0;
  });

  t.test('a violated check constraint returns 400', { skip: withoutChecks }, async (t) => {
    const answer = await app.inject({ method: 'POST', url: '/titles', payload: { isbn: 'x', place: 100 } });
    t.equal(answer.statusCode, 400, answer.body);
    t.equal(answer.json().code, 'invalid_usage');
  });

  t.test('a record that others refer to is not deleted under them', async (t) => {
    for (const path of ['authors', 'hooked-authors']) {
      const answer = await app.inject({ method: 'DELETE', url: `/${path}/${author.id}` });
      t.equal(answer.statusCode, 409, answer.body);
      t.equal(answer.json().details, undefined);
      t.notOk(
        lines.some(({ level }) => level === 40),
        'which is nothing to warn of',
      );
    }
  });

  t.test('a conflict in another statement of a hook has no details, and the log names the table', async (t) => {
    for (const isbn of ['label before', 'label along', 'label after', 'another title']) {
      lines.length = 0;
      const answer = await app.inject({ method: 'POST', url: '/faulty', payload: { isbn } });
      t.equal(answer.statusCode, 409, `${isbn}: ${answer.body}`);
      t.equal(answer.json().code, 'conflict');
      t.equal(answer.json().details, undefined);
      const warnings = lines.filter(({ level }) => level === 40);
      t.equal(warnings.length, 1);
      t.match(warnings[0]!.constraint, isbn === 'another title' ? /isbn/ : /text/);
      if (isbn !== 'label along') t.match(warnings[0]!.err?.stack, /conflicts\.test/);
    }
    lines.length = 0;
    const answer = await app.inject({ method: 'POST', url: '/titles/label', payload: { text: 'taken' } });
    t.equal(answer.statusCode, 409);
    t.equal(answer.json().details, undefined);
    t.equal(lines.filter(({ level }) => level === 40).length, 1);
    t.equal(await count(), 2);
  });

  t.test('other database errors of a hook return 500', async (t) => {
    const faults = ['absent', 'no scope', ...(database === 'postgresql' ? ['not a number'] : [])];
    for (const isbn of faults) {
      const answer = await app.inject({ method: 'POST', url: '/faulty', payload: { isbn } });
      t.equal(answer.statusCode, 500, `${isbn}: ${answer.body}`);
      t.same(answer.json(), { error: 'An internal error occurred', code: 'internal_error' });
    }
    for (const [method, url] of [
      ['GET', '/misjudged'],
      ['GET', '/misjudged/1001'],
      ['DELETE', '/misjudged/1001'],
    ] as const) {
      t.equal((await app.inject({ method, url })).statusCode, 500, `${method} ${url}`);
    }
    t.equal(await count(), 2);
  });
});
