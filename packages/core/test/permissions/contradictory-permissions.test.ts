/** `allowAnonymous: true` beside classes that refuse every anonymous request is a warning at start. */
import type { MikroORM } from '@mikro-orm/core';
import t, { type Test } from 'tap';
import {
  action,
  AllowAny,
  HasRole,
  IsAuthenticated,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ModelViewSet,
  readShape,
  Router,
  type ViewSet,
  type ViewsetOptions,
  writeShape,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { Book, LIBRARY, testApp, warningsAtStart } from '../support/library.ts';

const warningsOf = (t: Test, orm: MikroORM, View: new () => ViewSet, options: Partial<ViewsetOptions> = {}) =>
  warningsAtStart(t, orm, [new Router().register('books', View)], options);

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title']);
const readOnly = { read, operations: ['list', 'retrieve'] } as const;

class Loose extends IsAuthenticated {
  // @ts-expect-error -- lets in others
  override hasPermission(): boolean {
    return true;
  }
}

const CONTRADICTIONS = {
  IsAuthenticated: class extends ModelViewSet(Book, {
    ...readOnly,
    allowAnonymous: true,
    permissionClasses: [IsAuthenticated],
  }) {},
  'HasRole(buyer)': class extends ModelViewSet(Book, {
    ...readOnly,
    allowAnonymous: true,
    permissionClasses: [AllowAny, HasRole('buyer')],
  }) {},
  '(IsAuthenticated or IsRoleAdminUser)': class extends ModelViewSet(Book, {
    ...readOnly,
    permissionClasses: [IsAuthenticated.or(IsRoleAdminUser)],
  }) {
    override allowAnonymous = true;
  },
  'IsAuthenticated, IsRoleAdminUser': class extends ModelViewSet(Book, {
    ...readOnly,
    allowAnonymous: true,
    permissionClasses: { default: [IsAuthenticated], list: [IsRoleAdminUser] },
  }) {},
  IsSafeMethodOnly: class extends ModelViewSet(Book, {
    read,
    operations: ['list'],
    permissionClasses: [IsAuthenticated],
  }) {
    opened = action({ methods: ['post'], permissionClasses: [IsSafeMethodOnly], allowAnonymous: true }, () => ({}));
  },
};

for (const [classes, View] of Object.entries(CONTRADICTIONS)) {
  t.test(`${classes}: nobody could send an anonymous request`, async (t) => {
    const orm = await openSqlite(t, { entities: LIBRARY });
    const owner = classes === 'IsSafeMethodOnly' ? `${View.name}.opened` : View.name;
    const names = classes === 'IsAuthenticated, IsRoleAdminUser' ? 'IsRoleAdminUser, IsAuthenticated' : classes;
    t.strictSame(await warningsOf(t, orm, View), [
      `${owner}: option "allowAnonymous" is true, but permissionClasses has ${names}, which refuses every request ` +
        'without a user. To open the routes, add AllowAny or IsSafeMethodOnly.or(…); if a hook of yours finds the user, ' +
        'set the option "user" of the plugin viewset',
    ]);
  });
}

t.test('an action that takes over the classes of its view contradicts them too', async (t) => {
  class View extends ModelViewSet(Book, { ...readOnly, permissionClasses: [IsAuthenticated] }) {
    opened = action({ allowAnonymous: true }, () => ({}));
  }
  const orm = await openSqlite(t, { entities: LIBRARY });
  t.match(
    (await warningsOf(t, orm, View))[0],
    /^View\.opened: option "allowAnonymous" is true.* IsAuthenticated, which/,
  );
});

t.test('it is allowed if somebody may send such a request', async (t) => {
  const views = [
    class extends ModelViewSet(Book, {
      read,
      write,
      allowAnonymous: true,
      permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)],
    }) {},
    class extends ModelViewSet(Book, {
      ...readOnly,
      allowAnonymous: true,
      permissionClasses: { default: [IsAuthenticated], list: [AllowAny] },
    }) {},
    class extends ModelViewSet(Book, { ...readOnly, allowAnonymous: true, permissionClasses: [Loose] }) {},
    class extends ModelViewSet(Book, { ...readOnly, allowAnonymous: false, permissionClasses: [IsAuthenticated] }) {
      opened = action({ allowAnonymous: true, permissionClasses: [AllowAny] }, () => ({}));
    },
    // The one route that the option opens has its own classes.
    class extends ModelViewSet(Book, {
      read,
      operations: [],
      allowAnonymous: true,
      permissionClasses: [IsAuthenticated],
    }) {
      opened = action({ permissionClasses: [AllowAny] }, () => ({}));
    },
  ];
  const orm = await openSqlite(t, { entities: LIBRARY });
  for (const View of views) t.strictSame(await warningsOf(t, orm, View), []);
});

t.test('a hook may find the user of a request without a token', async (t) => {
  class View extends ModelViewSet(Book, { ...readOnly, allowAnonymous: true, permissionClasses: [IsAuthenticated] }) {}
  const orm = await openSqlite(t, { entities: LIBRARY });
  t.strictSame(await warningsOf(t, orm, View, { user: 'own' }), []);
  await orm.schema.refresh();
  const app = await testApp(t, orm, [new Router().register('books', View)]);
  t.equal((await app.inject('/books')).statusCode, 401);
  t.equal((await app.inject({ url: '/books', headers: { 'x-user': 'ann' } })).statusCode, 200);
});
