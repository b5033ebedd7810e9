import t from 'tap';
import { Type, type TSchema } from 'typebox';
import { ImproperlyConfigured } from '../../src/errors/errors.ts';
import { CursorPagination } from '../../src/pagination/cursor-pagination.ts';
import { LimitOffsetPagination, PageNumberPagination } from '../../src/pagination/counted-pagination.ts';
import { Paginator, type PaginatorOptions } from '../../src/pagination/paginator.ts';

const secret = 'a secret of thirty-two bytes ...';
const CLASSES = [PageNumberPagination, LimitOffsetPagination, CursorPagination];

for (const Class of CLASSES) {
  const make = (options: PaginatorOptions = {}) => new Class({ name: 'ItemViewSet', secret, ...options });

  t.test(`${Class.name}: invalid sizes fail at start, with their names`, async (t) => {
    for (const size of [0, -1, 1.5, NaN, Infinity, '10' as never, null as never]) {
      t.throws(() => make({ pageSize: size }), ImproperlyConfigured, `pageSize ${size}`);
      t.throws(() => make({ maxPageSize: size }), ImproperlyConfigured, `maxPageSize ${size}`);
    }
    t.throws(() => make({ pageSize: 0 }), { message: /ItemViewSet .*"pageSize".*integer.*got 0/ });
    const expected = { message: /ItemViewSet .*pageSize \(101\) must not exceed maxPageSize \(100\)/ };
    t.throws(() => make({ pageSize: 101 }).parameters, expected);
    t.throws(() => make({ maxPageSize: 5 }).parameters, { message: /pageSize \(10\).*maxPageSize \(5\)/ });
    t.doesNotThrow(() => make({ pageSize: 500, maxPageSize: 500 }).parameters);
  });

  t.test(`${Class.name}: undefined options are those that were left out`, async (t) => {
    t.doesNotThrow(() => make({ pageSize: undefined, maxPageSize: undefined }).parameters);
  });

  t.test(`${Class.name}: every parameter has a schema and a description`, async (t) => {
    for (const { schema } of make().parameters) t.match(schema, { type: /integer|string/, description: String });
  });
}

t.test('invalid sizes of a subclass fail at start too', async (t) => {
  class Nothing extends PageNumberPagination {
    override readonly pageSize = 0;
  }
  class Upside extends PageNumberPagination {
    override readonly pageSize = 200;
  }
  t.throws(() => new Nothing().parameters, { message: /Nothing: option "pageSize"/ });
  t.throws(() => new Upside().parameters, { message: /Upside: pageSize \(200\) must not exceed maxPageSize \(100\)/ });
});

t.test('parameters are named by fields that a subclass overrides', async (t) => {
  class P extends PageNumberPagination {
    override readonly pageParameter = 'p';
    override readonly pageSizeParameter = 'size';
  }
  class L extends LimitOffsetPagination {
    override readonly limitParameter = 'take';
    override readonly offsetParameter = 'skip';
  }
  class C extends CursorPagination {
    override readonly cursorParameter = 'after';
    override readonly pageSizeParameter = 'size';
  }
  const names = (paginator: Paginator) => paginator.parameters.map(({ name }) => name);
  t.same(names(new PageNumberPagination()), ['page', 'page_size']);
  t.same(names(new LimitOffsetPagination()), ['limit', 'offset']);
  t.same(names(new CursorPagination({ secret })), ['cursor', 'page_size']);
  t.same(names(new P()), ['p', 'size']);
  t.same(names(new L()), ['take', 'skip']);
  t.same(names(new C({ secret })), ['after', 'size']);
});

t.test('the sizes in force are documented', async (t) => {
  class Big extends PageNumberPagination {
    override readonly pageSize = 50;
    override readonly maxPageSize = 500;
  }
  const size = (paginator: Paginator) => paginator.parameters.find(({ name }) => name === 'page_size')?.schema;
  t.match(size(new PageNumberPagination()), { minimum: 1, default: 10, description: /at most 100/ });
  t.match(size(new Big()), { default: 50, description: /at most 500/ });
  t.match(size(new Big({ pageSize: 7, maxPageSize: 70 })), { default: 7, description: /at most 70/ });
});

t.test('envelope schemas describe the sent pages', async (t) => {
  const item = Type.Object({ id: Type.Integer() });
  const keys = (schema: TSchema) => Object.keys((schema as unknown as { properties: object }).properties);
  const envelope = ['count', 'next', 'previous', 'results'];
  t.same(keys(new PageNumberPagination().envelope(item)), envelope);
  t.same(keys(new LimitOffsetPagination().envelope(item)), envelope);
  const cursors = ['next', 'previous', 'next_cursor', 'previous_cursor', 'results'];
  t.same(keys(new CursorPagination({ secret }).envelope(item)), cursors);
});

t.test('a cursor needs a secret, and the message names the view', async (t) => {
  t.throws(() => new CursorPagination({ name: 'ItemViewSet' }), {
    message: /^ItemViewSet \(CursorPagination\): cursors are encrypted with a secret of at least 32 bytes, got none/,
  });
  t.throws(() => new CursorPagination({ secret: 'short' }), ImproperlyConfigured);
});

t.test('a custom paginator needs only three members', async (t) => {
  class Everything extends Paginator {
    readonly parameters = [];
    envelope(item: TSchema) {
      return Type.Object({ items: Type.Array(item) });
    }
    async paginate() {
      return { items: [] };
    }
  }
  t.same(await new Everything().paginate(), { items: [] });
  t.equal(new Everything().check(undefined as never), undefined);
});
