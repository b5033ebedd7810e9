/** `allowAnonymous: true` beside classes that refuse every anonymous request is an error at start. */
import t from 'tap';
import {
  action,
  AllowAny,
  HasRole,
  IsAuthenticated,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ModelViewSet,
  readShape,
  writeShape,
} from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { Book, errorAtStart, LIBRARY } from '../support/library.ts';

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
    t.equal(
      await errorAtStart(t, orm, View),
      `${owner}: option "allowAnonymous" is true, but permissionClasses has ${names}, which refuses every anonymous ` +
        'request; leave the option out, or add AllowAny or IsSafeMethodOnly.or(…)',
    );
  });
}

t.test('an action that takes over the classes of its view contradicts them too', async (t) => {
  class View extends ModelViewSet(Book, { ...readOnly, permissionClasses: [IsAuthenticated] }) {
    opened = action({ allowAnonymous: true }, () => ({}));
  }
  const orm = await openSqlite(t, { entities: LIBRARY });
  t.match(await errorAtStart(t, orm, View), /^View\.opened: option "allowAnonymous" is true.* IsAuthenticated, which/);
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
  for (const View of views) t.equal(await errorAtStart(t, orm, View), undefined);
});
