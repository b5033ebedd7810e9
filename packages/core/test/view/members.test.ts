import t from 'tap';
import { ModelViewSet, readShape, ViewSet } from '../../src/index.ts';
import { Book } from '../support/library.ts';

t.test("a user's view has only members that an application may call or override", async (t) => {
  class BookViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id']) }) {}
  const options = [
    'allowAnonymous',
    'batchable',
    'documentation',
    'idempotency',
    'ignoreUnknownParameters',
    'permissionClasses',
    'throttles',
  ];
  const plain = ['checkObjectPermissions', 'getAction', 'meta', 'name', 'throttleRate', ...options].toSorted();
  t.strictSame(membersOf(new (class extends ViewSet {})()), plain);
  const operations = ['create', 'createMany', 'destroy', 'destroyMany', 'list', 'retrieve', 'update', 'updateMany'];
  const hooks = [
    'filterQueryset',
    'getObject',
    'getQueryset',
    'performCreate',
    'performDestroy',
    'performUpdate',
    'readShapeFor',
    'writeShapeFor',
  ];
  const helpers = ['entity', 'explain', 'loadRelated', 'paginate', 'represent', 'rows'];
  t.strictSame(membersOf(new BookViewSet()), [...plain, ...operations, ...hooks, ...helpers].toSorted());
});

/** The names that an editor offers after `this.`, but for the constructor and those of every object. */
function membersOf(view: object): string[] {
  const names = new Set(Object.keys(view));
  let prototype = Object.getPrototypeOf(view) as object;
  for (; prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype) as object) {
    for (const name of Object.getOwnPropertyNames(prototype)) names.add(name);
  }
  names.delete('constructor');
  return [...names].toSorted();
}
