import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  getCurrentUser,
  IsAuthenticated,
  HasRole,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ModelViewSet,
  Permission,
  type PermissionClass,
  type PermissionView,
  readShape,
  Router,
  ViewSet,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';

/** Views, updates and deletes long books only; asked of the record. */
class IsLong extends Permission {
  override async hasObjectPermission(_request: FastifyRequest, _view: PermissionView, object: object) {
    return (object as { pages: number }).pages >= 200;
  }
}

/** There are only the books of North; asked of the query. */
class OfNorth extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Book>>(view, { publisher__name: 'North' });
  }
}

/** The books of somebody's teams, who is in none. */
class OfNoTeam extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<InferEntity<typeof Book>>(view, { publisher__name__in: [] });
  }
}

class IsAnna extends Permission {
  override hasPermission(request: FastifyRequest) {
    return (getCurrentUser(request) as { role: { name: string } } | null)?.role.name === 'anna';
  }
}

function bookRouter(path: string, ...permissionClasses: PermissionClass[]): Router {
  class BookViewSet extends ModelViewSet(Book, {
    read: readShape(Book, ['id', 'title']),
    write: writeShape(Book, ['title', 'pages']),
    permissionClasses,
  }) {
    touch = action({ detail: true, methods: ['post'] }, async () => ({ touched: true }));
  }
  return new Router().register(path, BookViewSet);
}

const ANNA = { 'x-user': 'anna' };
const ADMIN = { 'x-user': 'admin' };

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);

  const statuses = async (t: Test, permission: PermissionClass, headers: Record<string, string> = {}) => {
    const app = await testApp(t, orm, [bookRouter('books', permission)]);
    const list = await app.inject({ url: '/books?x-ignored=', headers });
    const ids = await app.inject({ url: '/books?page_size=100', headers });
    const one = async (id: number) => (await app.inject({ url: `/books/${id}`, headers })).statusCode;
    const touch = async (id: number) =>
      (await app.inject({ method: 'POST', url: `/books/${id}/touch`, headers })).statusCode;
    const patch = async (id: number) =>
      (await app.inject({ method: 'PATCH', url: `/books/${id}`, payload: {}, headers })).statusCode;
    t.ok(list.statusCode >= 400, 'an unknown parameter is refused, or the view is');
    const listed = ids.statusCode === 200 ? ids.json().results.map((book: { id: number }) => book.id) : ids.statusCode;
    return {
      listed,
      one: [await one(1), await one(2), await one(3)],
      touch: [await touch(1), await touch(3)],
      patch: [await patch(1), await patch(3)],
    };
  };

  t.test(
    'a failed view check returns 401 to anonymous users and 403 to others, before the body and the key are validated',
    async (t) => {
      const app = await testApp(t, orm, [bookRouter('books', IsSafeMethodOnly.or(IsRoleAdminUser))]);
      const post = (headers: Record<string, string>, payload: unknown) =>
        app.inject({
          method: 'POST',
          url: '/books',
          headers: { 'content-type': 'application/json', ...headers },
          payload: payload as string,
        });
      t.equal((await post({}, '{bad')).statusCode, 401);
      t.equal((await post({}, '{bad')).headers['www-authenticate'], 'Bearer');
      t.equal((await post(ANNA, '{bad')).statusCode, 403);
      t.equal((await post(ADMIN, '{bad')).statusCode, 400);
      t.equal((await app.inject({ method: 'DELETE', url: '/books/zzz' })).statusCode, 401);
      t.equal((await app.inject({ method: 'DELETE', url: '/books/zzz', headers: ADMIN })).statusCode, 404);
      t.equal((await app.inject('/books/1')).statusCode, 200);
    },
  );

  t.test(
    'an object check guards every operation on a record, and detail actions that do not call getObject',
    async (t) => {
      t.same(await statuses(t, IsLong, ANNA), {
        listed: [1, 2, 3, 4, 5],
        one: [403, 200, 200],
        touch: [403, 200],
        patch: [403, 200],
      });
      t.same((await statuses(t, IsLong)).one, [401, 200, 200]);
    },
  );

  t.test('a scope narrows lists, retrieve, update, destroy and actions', async (t) => {
    t.same(await statuses(t, OfNorth, ANNA), {
      listed: [1, 2],
      one: [200, 200, 404],
      touch: [200, 404],
      patch: [200, 404],
    });
  });

  t.test('a negated view check does not deny objects', async (t) => {
    t.same(await statuses(t, IsAnna.not(), ADMIN), {
      listed: [1, 2, 3, 4, 5],
      one: [200, 200, 200],
      touch: [200, 200],
      patch: [200, 200],
    });
    t.same((await statuses(t, IsAnna.not(), ANNA)).listed, 403);
  });

  t.test('a negated object check grants the other objects', async (t) => {
    t.same((await statuses(t, IsLong.not(), ANNA)).one, [200, 403, 403]);
  });

  t.test('a negated scope is its complement', async (t) => {
    t.same(await statuses(t, OfNorth.not(), ANNA), {
      listed: [3, 4, 5],
      one: [404, 404, 200],
      touch: [404, 200],
      patch: [404, 200],
    });
  });

  t.test('an empty scope is not an error: lists are empty and records return 404', async (t) => {
    const before = await orm.em.fork().count(Book);
    t.same(await statuses(t, OfNoTeam, ANNA), {
      listed: [],
      one: [404, 404, 404],
      touch: [404, 404],
      patch: [404, 404],
    });
    const app = await testApp(t, orm, [bookRouter('books', OfNoTeam)]);
    const destroyed = await app.inject({ method: 'DELETE', url: '/books/1', headers: ANNA });
    t.equal(destroyed.statusCode, 404);
    const made = await app.inject({
      method: 'POST',
      url: '/books',
      payload: { title: 'Elm', pages: 9 },
      headers: ANNA,
    });
    t.equal(made.statusCode, 403, 'nobody makes a record that is not in their own scope');
    t.equal(await orm.em.fork().count(Book), before, 'and nothing is kept of it');
    t.same(await statuses(t, OfNoTeam.or(OfNorth), ANNA), await statuses(t, OfNorth, ANNA));
    t.same((await statuses(t, OfNoTeam.not(), ANNA)).listed, [1, 2, 3, 4, 5]);
  });

  t.test('a record that a negation leaves out of lists is not there', async (t) => {
    class LongOfNorth extends OfNorth {
      override hasObjectPermission(_request: FastifyRequest, _view: PermissionView, object: object) {
        return (object as { pages: number }).pages >= 200;
      }
    }
    // Ash is of North, but too short: the class refuses it, and its negation does not show it either.
    t.same(await statuses(t, LongOfNorth.not(), ANNA), {
      listed: [3, 4, 5],
      one: [404, 404, 200],
      touch: [404, 200],
      patch: [404, 200],
    });
    t.same(await statuses(t, LongOfNorth.not().not(), ANNA), await statuses(t, LongOfNorth, ANNA));
  });

  t.test('a list shows nothing that the negation of a scope or an object check never grants', async (t) => {
    t.same(await statuses(t, OfNorth.or(IsLong).not(), ANNA), {
      listed: [3, 4, 5],
      one: [404, 404, 403],
      touch: [404, 403],
      patch: [404, 403],
    });
  });

  t.test('OR does not grant access through the check that was not evaluated', async (t) => {
    const annasLong = IsAnna.and(IsLong);
    t.same((await statuses(t, annasLong.or(IsRoleAdminUser), ADMIN)).one, [200, 200, 200]);
    t.same((await statuses(t, annasLong.or(IsRoleAdminUser), ANNA)).one, [403, 200, 200]);
    t.same((await statuses(t, annasLong.or(IsRoleAdminUser), { 'x-user': 'bob' })).listed, 403);
    // Ash is of North but short, Cedar is long but of South: only Birch is in both halves of the first, all long in the second.
    t.same((await statuses(t, OfNorth.and(IsLong).or(IsRoleAdminUser.and(OfNorth.not())), ADMIN)).one, [403, 200, 200]);
    t.same((await statuses(t, OfNorth.or(IsLong), ANNA)).one, [200, 200, 200]);
    t.same((await statuses(t, OfNorth.not().or(IsLong), ANNA)).one, [403, 200, 200]);
  });

  t.test('and narrows by both halves', async (t) => {
    t.same(await statuses(t, OfNorth.and(IsLong), ANNA), {
      listed: [1, 2],
      one: [403, 200, 404],
      touch: [403, 404],
      patch: [403, 404],
    });
    t.same((await statuses(t, OfNorth.and(OfNorth.not()), ANNA)).listed, []);
  });

  t.test('combinations have names, and combine further', async (t) => {
    t.equal(IsSafeMethodOnly.or(IsAuthenticated).not().name, '(not (IsSafeMethodOnly or IsAuthenticated))');
    t.same((await statuses(t, IsAnna.not().not(), ANNA)).one, [200, 200, 200]);
    t.same((await statuses(t, IsLong.not().not(), ANNA)).one, [403, 200, 200]);
  });

  t.test('a value that is not a permission class is rejected at registration', async (t) => {
    class Stray {}
    await t.rejects(
      testApp(t, orm, [bookRouter('books', Stray as never)]),
      /BookViewSet: option "permissionClasses\[0\]" must be a class that extends Permission, got the function Stray/,
    );
    class ToolViewSet extends ViewSet {
      override permissionClasses: PermissionClass[] = [IsAnna];
      tune = action({ permissionClasses: [Stray as never] }, async () => ({}));
    }
    await t.rejects(
      testApp(t, orm, [new Router().register('tools', ToolViewSet)]),
      /ToolViewSet\.tune: option "permissionClasses\[0\]" must be a class/,
    );
    class BareViewSet extends ViewSet {
      override permissionClasses: PermissionClass[] = [Stray as never];
      tune = action({ permissionClasses: [IsAnna] }, async () => ({}));
    }
    await t.rejects(
      testApp(t, orm, [new Router().register('bare', BareViewSet)]),
      /BareViewSet: option "permissionClasses\[0\]" must be a class/,
      'though nothing is behind it',
    );
  });

  t.test('a view has one instance of every permission class for all routes', async (t) => {
    let made = 0;
    class Counted extends Permission {
      readonly number = ++made;
      override hasPermission() {
        return true;
      }
    }
    await testApp(t, orm, [bookRouter('books', Counted)]);
    t.equal(made, 1);
  });

  t.test('an administrator may have another name', async (t) => {
    t.same((await statuses(t, HasRole('anna'), ANNA)).one, [200, 200, 200]);
    t.throws(() => HasRole(''), /must be names of roles/);
  });
});
