/** Permissions, scopes and `throttleRate` may answer at once or later: the client sees no difference. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  getCurrentUser,
  ModelViewSet,
  Permission,
  type PermissionClass,
  type PermissionView,
  readShape,
  Router,
  writeShape,
} from '../../src/index.ts';
import { type DatabaseName, forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';

type Pace = <Answer>(answer: Answer) => Answer | Promise<Answer>;
const requireSync: Pace = (answer) => answer;
const later: Pace = async (answer) => sleep(1, answer);
const laterByAThenable: Pace = (answer) =>
  // oxlint-disable-next-line unicorn/no-thenable -- what a query builder or another library's promise is
  ({ then: (resolve: (value: unknown) => void) => setImmediate(resolve, answer) }) as never;

function permissionsAt(pace: Pace): readonly PermissionClass[] {
  class IsAnna extends Permission {
    override hasPermission(request: FastifyRequest) {
      return pace(getCurrentUser(request)?.role?.name === 'anna');
    }
  }
  class OfNorth extends Permission {
    override scope(_request: FastifyRequest, view: PermissionView) {
      return pace(this.records<InferEntity<typeof Book>>(view, { publisher__name: 'North' }));
    }
  }
  class IsLong extends Permission {
    override hasObjectPermission(_request: FastifyRequest, _view: PermissionView, object: object) {
      return pace((object as { pages: number }).pages >= 200);
    }
  }
  return [
    IsAnna,
    OfNorth,
    IsLong,
    IsAnna.and(OfNorth),
    IsAnna.or(IsLong),
    OfNorth.or(IsLong).not(),
    IsAnna.or(OfNorth.and(IsLong).not()),
  ];
}

const REQUESTS = [
  { method: 'GET', url: '/books' },
  { method: 'GET', url: '/books?sort=-pages&page_size=2' },
  ...[1, 3, 4, 9].map((id) => ({ method: 'GET' as const, url: `/books/${id}` })),
  { method: 'POST', url: '/books', payload: { title: 'Fir' } },
  { method: 'POST', url: '/books', payload: {} },
  ...[1, 2, 3].map((id) => ({ method: 'PATCH' as const, url: `/books/${id}`, payload: { title: 'New' } })),
  ...[1, 2, 4].map((id) => ({ method: 'DELETE' as const, url: `/books/${id}` })),
] as const;

const shapes = {
  read: readShape(Book, ['id', 'title', 'pages']),
  write: writeShape(Book, ['title', 'pages']),
  orderingFields: { pages: 'pages' },
} as const;

forEachDatabase(t, { entities: LIBRARY }, async (t, orm, database) => {
  const begin = async (): Promise<void> => {
    const clear: Record<DatabaseName, readonly string[]> = {
      sqlite: ['delete from book', 'delete from publisher', 'delete from sqlite_sequence'],
      postgresql: ['truncate book, publisher restart identity'],
      mongodb: [],
    };
    if (database === 'mongodb') await orm.schema.refresh();
    for (const statement of clear[database]) await orm.em.getConnection().execute(statement);
    await fillLibrary(orm);
  };

  /** What anna and a stranger are answered, each beginning with the same books. */
  const answers = async (permission: PermissionClass): Promise<string[]> => {
    class BookViewSet extends ModelViewSet(Book, { ...shapes, permissionClasses: [permission] }) {}
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
    const lines: string[] = [];
    for (const headers of [{ 'x-user': 'anna' }, {}]) {
      await begin();
      for (const request of REQUESTS) {
        const { statusCode, body } = await app.inject({ ...request, headers });
        lines.push(`${request.method} ${request.url} ${statusCode} ${body}`);
      }
    }
    return lines;
  };

  await t.test('permissions and scopes may return values or promises, with the same result', async (t) => {
    const [now, promised, thenable] = [requireSync, later, laterByAThenable].map(permissionsAt);
    for (const [index, permission] of now!.entries()) {
      const expected = await answers(permission);
      t.same(await answers(promised![index]!), expected, permission.name);
      if (index < 3) t.same(await answers(thenable![index]!), expected, `${permission.name}, of a thenable`);
    }
  });

  await t.test('throttleRate of the view and of the plugin may return a promise', async (t) => {
    for (const pace of [requireSync, later, laterByAThenable]) {
      class BookViewSet extends ModelViewSet(Book, shapes) {
        override throttleRate(request: FastifyRequest) {
          return pace(request.headers['x-view'] !== 'no');
        }
      }
      const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], {
        options: { throttleRate: (request) => pace(request.headers['x-plugin'] !== 'no') },
      });
      const statusOf = async (headers: Record<string, string>) =>
        (await app.inject({ url: '/books', headers })).statusCode;
      t.equal(await statusOf({}), 200);
      t.equal(await statusOf({ 'x-view': 'no' }), 429);
      t.equal(await statusOf({ 'x-plugin': 'no' }), 429);
    }
  });

  await t.test('a check that resolves after the request was aborted does not let it continue', async (t) => {
    await begin();
    // The clock of the handlers keeps no process alive.
    const alive = setInterval(() => {}, 1000);
    t.teardown(() => clearInterval(alive));
    for (const question of ['hasPermission', 'scope', 'hasObjectPermission'] as const) {
      const asked = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<void>();
      const waiting = async <Answer>(value: Answer): Promise<Answer> => {
        asked.resolve();
        await answer.promise;
        return value;
      };
      class Slow extends Permission {}
      Object.assign(Slow.prototype, { [question]: () => waiting(question === 'scope' ? undefined : true) });
      class BookViewSet extends ModelViewSet(Book, { ...shapes, permissionClasses: [Slow] }) {}
      const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], {
        options: { handlerTimeoutMs: 100 },
      });
      const pending = app.inject({ method: 'PATCH', url: '/books/1', payload: { title: question } });
      await asked.promise;
      t.equal((await pending).statusCode, 503, question);
      answer.resolve();
      await sleep(50);
      t.equal((await orm.em.fork().findOneOrFail(Book, 1)).title, 'Ash', `${question}: nothing is written`);
    }
  });
});
