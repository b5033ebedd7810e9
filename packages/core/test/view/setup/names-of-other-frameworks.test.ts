/** Habits of Django REST framework and of NestJS that mean nothing here: each stops the start, and says what is meant. */
import t from 'tap';
import {
  AllowAny,
  IsAuthenticated,
  ModelViewSet,
  Permission,
  readShape,
  ViewSet,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { Book, errorAtStart, LIBRARY } from '../../support/library.ts';

const read = readShape(Book, ['id', 'title']);
const write = writeShape(Book, ['title', 'pages']);

forEachDatabase(t, { entities: LIBRARY, only: ['sqlite'] }, async (t, orm) => {
  const refusal = (make: () => new () => ViewSet) => errorAtStart(t, orm, make());
  /** A view of an entity with further members: of its class, of its instances, or of the class itself. */
  const modelView =
    (members: object, statics: object = {}, base: new () => ViewSet = ModelViewSet(Book, { read, write })) =>
    (): new () => ViewSet => {
      class BookViewSet extends base {}
      for (const [name, value] of Object.entries(members)) {
        if (typeof value === 'function') Object.defineProperty(BookViewSet.prototype, name, { value });
      }
      const fields = Object.entries(members).filter(([, value]) => typeof value !== 'function');
      const named = {
        BookViewSet: class extends BookViewSet {
          constructor() {
            super();
            Object.assign(this, Object.fromEntries(fields));
          }
        },
      }.BookViewSet;
      return Object.assign(named, statics);
    };
  const plainView = (members: object) => modelView(members, {}, class extends ViewSet {});
  const method = () => undefined;

  t.test('attributes and methods of a view of Django REST framework', async (t) => {
    for (const [members, message] of [
      [{ queryset: [] }, 'nothing reads "queryset"; getQueryset returns the records of a request'],
      [{ serializer_class: Object }, /^BookViewSet: nothing reads "serializer_class"; .*"read" and "write"/],
      [{ getSerializerClass: method }, /nothing reads "getSerializerClass"; .*readShapeFor/],
      [{ pagination_class: Object }, /nothing reads "pagination_class"; .*"pagination"/],
      [{ filter_backends: [] }, /nothing reads "filter_backends"; .*"filters"/],
      [{ filterset_fields: ['title'] }, /nothing reads "filterset_fields"; .*"filterFields"/],
      [{ authentication_classes: [] }, /nothing reads "authentication_classes"; .*"allowAnonymous"/],
      [{ throttle_classes: [] }, /nothing reads "throttle_classes"; .*"throttles"/],
      [{ get_permissions: method }, /nothing reads "get_permissions"; .*"permissionClasses"/],
      [{ getPermissions: method }, /nothing reads "getPermissions"; .*"permissionClasses"/],
      [{ http_method_names: ['get'] }, /nothing reads "http_method_names"; .*"operations"/],
      [{ partial_update: method }, /nothing reads "partial_update"; update has PATCH/],
      [{ partialUpdate: method }, /nothing reads "partialUpdate"; update has PATCH/],
      [{ to_representation: method }, /nothing reads "to_representation"; .*represent/],
    ] as const) {
      const error = await refusal(modelView(members));
      if (typeof message === 'string') t.equal(error, `BookViewSet: ${message}`);
      else t.match(error, message);
    }
    t.match(await refusal(plainView({ list: method, getPermissions: method })), /nothing reads "getPermissions"/);
    t.equal(await refusal(plainView({ list: method, queryset: [] })), undefined, 'it has no records');
  });

  t.test('options in snake case, or of the class itself', async (t) => {
    const message = (name: string, option = name) =>
      `BookViewSet: nothing reads "${name}" in the class; it is an option: ModelViewSet(Book, { ${option}: … })`;
    t.equal(await refusal(modelView({ search_fields: ['title'] })), message('search_fields', 'searchFields'));
    t.equal(await refusal(modelView({ page_size: 5 })), message('page_size', 'pageSize'));
    t.equal(await refusal(modelView({ lookup_field: 'title' })), message('lookup_field', 'lookupField'));
    t.equal(await refusal(modelView({}, { searchFields: ['title'] })), message('searchFields'));
    t.equal(await refusal(modelView({}, { tags: new Map(), helper: 5 })), undefined);
    for (const make of [
      modelView,
      (members: object, statics: object) =>
        modelView(
          members,
          statics,
          class extends ViewSet {
            override list() {
              return [];
            }
          },
        ),
    ]) {
      t.equal(
        await refusal(make({}, { permissionClasses: [IsAuthenticated] })),
        'BookViewSet: nothing reads the static "permissionClasses"; it belongs to each view, without "static"',
      );
    }
  });

  t.test('methods of a controller of NestJS, and misspelt operations', async (t) => {
    for (const [name, operation] of [
      ['findAll', 'list'],
      ['findOne', 'retrieve'],
      ['remove', 'destroy'],
      ['delete', 'destroy'],
      ['patch', 'update'],
      ['lits', 'list'],
      ['lsit', 'list'],
    ] as const) {
      const own = operation === 'list' ? 'retrieve' : 'list';
      t.match(
        await refusal(plainView({ [own]: method, [name]: method })),
        new RegExp(`^BookViewSet: "${name}" is never called; did you mean "${operation}"\\?$`),
      );
      t.equal(await refusal(plainView({ [operation]: method, [name]: method })), undefined, 'a name of its own');
      t.equal(await refusal(modelView({ [name]: method })), undefined);
    }
    t.equal(await refusal(plainView({ retrieve: method, last: method, lift: method })), undefined);
  });

  t.test('a view without a route', async (t) => {
    t.equal(
      await refusal(plainView({ index: method })),
      'BookViewSet has no route: it has no action, and none of list, create, retrieve, update, destroy',
    );
  });

  t.test('operations: [] is accepted, for views that are nested or only referenced', async (t) => {
    class BookViewSet extends ModelViewSet(Book, { read, operations: [] }) {}
    t.equal(await refusal(() => BookViewSet), undefined);
  });

  t.test('a permission class without checks', async (t) => {
    class Guard extends Permission {
      canActivate() {
        return false;
      }
    }
    class Static extends Permission {
      static hasPermission() {
        return false;
      }
    }
    for (const Class of [Guard, Static, Permission, Guard.and(IsAuthenticated), Guard.not()]) {
      t.match(
        await refusal(() => class extends ModelViewSet(Book, { read, permissionClasses: [Class] }) {}),
        /a permission class that overrides none of hasPermission, hasObjectPermission, scope allows everybody; use AllowAny to say so$/,
      );
    }
    class Open extends AllowAny {}
    class Field extends Permission {
      override hasPermission = () => true;
    }
    for (const Class of [AllowAny, Open, Field, AllowAny.and(IsAuthenticated)]) {
      t.equal(
        await refusal(() => class extends ModelViewSet(Book, { read, permissionClasses: [Class] }) {}),
        undefined,
      );
    }
  });
});
