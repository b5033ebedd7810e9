import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  compare,
  computed,
  DEFAULT_FILTERS,
  fieldPath,
  Filter,
  HealthRegistry,
  ImproperlyConfigured,
  IsAuthenticated,
  JsonLogicFilter,
  ModelViewSet,
  or,
  OrderingFilter,
  QueryParameterFilter,
  type QueryParameters,
  type QuerySet,
  readShape,
  Router,
  SearchFilter,
  ViewSet,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { PathRateLimit } from '../../../src/throttle/built-in-rules.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { Book, errorAtStart, LIBRARY, Publisher, testApp } from '../../support/library.ts';

const Note = defineEntity({ name: 'Note', properties: { id: p.integer().primary(), data: p.json() } });

/** Nothing but a client, or a hook, gives one its title and its publisher. */
const Volume = defineEntity({
  name: 'Volume',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    note: p.string().nullable(),
    pages: p.integer().default(0),
    kind: p.string().defaultRaw("'novel'"),
    made: p.datetime().onCreate(() => new Date()),
    size: p.integer().generated('(pages * 2) stored'),
    double: p.integer().formula('pages * 2'),
    shown: p.string().persist(false),
    publisher: () => p.manyToOne(Publisher),
  },
});
const CodedSchema = defineEntity({ name: 'Coded', properties: { id: p.integer().primary(), code: p.string() } });
class Coded extends CodedSchema.class {
  override code = 'made by the class';
}
CodedSchema.setClass(Coded);

const read = readShape(Book, ['id', 'title']);

class InPrintFilter extends Filter {
  static override readonly reads: (typeof Filter)['reads'] = [];
  readonly parameters = [];
  apply<Q>(queryset: Q): Q {
    return queryset;
  }
}
/** No heir of a built-in one, but it reads the same option. */
class FullTextFilter extends InPrintFilter {
  static override readonly reads = ['searchFields'] as const;
  readonly columns = this.target.searchFields.join(' ');
}
class CustomSearchFilter extends SearchFilter {}
/** Reads the option of its view when a list is asked for, and not before; it does not say which it reads. */
class LateFilter extends Filter {
  readonly parameters = [{ name: 'begins', schema: Type.String() }];
  apply<E extends object>(queryset: QuerySet<E>, parameters: QueryParameters): QuerySet<E> {
    const text = parameters.one('begins');
    if (text === undefined) return queryset;
    const { searchFields } = this.target;
    return queryset.where(
      or(...searchFields.map((field) => compare(fieldPath(queryset.meta, field, '__'), 'startswith', text))),
    );
  }
}
class HeirOfLateFilter extends LateFilter {}

/** What a view of some options says when it is mounted; undefined where nothing is wrong. */
type Mount = (options: object) => Promise<unknown>;

forEachDatabase(t, { entities: [...LIBRARY, Note, Volume, Coded], only: ['sqlite'] }, async (t, orm) => {
  const errorOf = async (build: () => Promise<unknown>): Promise<Error | undefined> => {
    try {
      await build();
    } catch (error) {
      t.type(error, ImproperlyConfigured);
      return error as Error;
    }
    return undefined;
  };
  const mount: Mount = (options) => {
    class BookViewSet extends ModelViewSet(Book, { read, ...options }) {}
    return errorOf(() => testApp(t, orm, [new Router().register('books', BookViewSet)]));
  };
  const start: Mount = (options) => errorOf(() => testApp(t, orm, [], { options }));

  t.test('a view names the option that is of the wrong kind', async (t) => {
    for (const [options, message] of [
      [
        { pagination: IsAuthenticated },
        /^BookViewSet: option "pagination" must be a class that extends Paginator, or null for none, got the function IsAuthenticated$/,
      ],
      [
        { read: undefined },
        /^BookViewSet: option "read" must be a readShape\(\), a Type\.Object\(\), or an object of these by operation, got undefined$/,
      ],
      [
        { write: 'title' },
        /^BookViewSet: option "write" must be a writeShape\(\), a Type\.Object\(\), or an object of these by operation, got "title"$/,
      ],
      [{ pagination: 'pages' }, /option "pagination" .*, got "pages"/],
      [{ filters: SearchFilter }, /^BookViewSet: option "filters" must be an array/],
      [
        { filters: [SearchFilter, IsAuthenticated] },
        /^BookViewSet: option "filters\[1\]" must be a class that extends Filter, got the function IsAuthenticated$/,
      ],
      [
        { ignoreUnknownParameters: 'x' },
        /^BookViewSet: option "ignoreUnknownParameters" must be a boolean or an array of strings/,
      ],
    ] as const) {
      t.match(await mount(options), { message });
    }
    t.equal(await mount({ pagination: null, filters: [], ignoreUnknownParameters: ['x'] }), undefined);
  });

  t.test('every option rejects every value of the wrong kind', async (t) => {
    const WRONG: readonly unknown[] = [
      0,
      1.5,
      '',
      true,
      {},
      [],
      () => 1,
      Symbol('x'),
      1n,
      [null],
      [1],
      { x: null },
      { x: 1 },
    ];
    const nothing: unknown = Object.create(null);
    const isBoolean = (value: unknown) => typeof value === 'boolean';
    const isFunction = (value: unknown) => typeof value === 'function';
    const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;
    const isObject = (value: unknown): value is object =>
      typeof value === 'object' && value !== null && !Array.isArray(value);
    const isEmptyObject = (value: unknown) => isObject(value) && Object.keys(value).length === 0;
    const never = () => false;
    const mounted = (View: new () => ViewSet, register?: object) =>
      testApp(t, orm, [new Router().register('books', View, register)]);
    class PlainViewSet extends ViewSet {
      override list() {
        return {};
      }
    }
    /** Builds something with a value in the place of an option, and tells which of the values are right for it. */
    type Place = readonly [build: (value: unknown) => unknown, fits: (value: unknown) => boolean];
    const option = (name: string, fits: Place[1]): [string, Place] => [
      name,
      [
        (value) => {
          class BookViewSet extends ModelViewSet(Book, { read, [name]: value }) {}
          return mounted(BookViewSet);
        },
        fits,
      ],
    ];
    const field = (name: string, fits: Place[1]): [string, Place] => [
      name,
      [
        (value) =>
          mounted(
            class extends PlainViewSet {
              constructor() {
                super();
                Object.assign(this, { [name]: value });
              }
            },
          ),
        fits,
      ],
    ];
    const ofPlugin = (name: string, fits: Place[1]): [string, Place] => [
      name,
      [(value) => testApp(t, orm, [], { options: { [name]: value } }), fits],
    ];
    const ofRule = (name: string, fits: Place[1]): [string, Place] => [
      name,
      [(value) => new PathRateLimit(1, 1, { [name]: value }), fits],
    ];
    const places: (readonly [string, Place])[] = [
      ...['searchFields', 'jsonLogicFields', 'ordering', 'tags', 'operations', 'permissionClasses', 'throttles'].map(
        (name) => option(name, isEmptyList),
      ),
      ...['filterFields', 'orderingFields', 'summaries', 'referencePermissions'].map((name) =>
        option(name, isEmptyObject),
      ),
      ...['allowAnonymous', 'deprecated'].map((name) => option(name, isBoolean)),
      option('description', never),
      ...['permissionClasses', 'throttles'].map((name) => field(name, isEmptyList)),
      field('allowAnonymous', isBoolean),
      field('throttleRate', isFunction),
      field('documentation', isEmptyObject),
      field('ignoreUnknownParameters', (value) => isBoolean(value) || isEmptyList(value)),
      ...['store', 'secret', 'healthPath'].map((name) => ofPlugin(name, never)),
      ...['store', 'path'].map((name) => ofRule(name, never)),
      ['basename', [(value) => mounted(PlainViewSet, { basename: value }), never]],
      ['view', [(value) => mounted(value as never), never]],
      ['names', [(value) => readShape(Book, value as never), never]],
      ['names', [(value) => writeShape(Book, value as never), isEmptyList]],
      ['overrides', [(value) => writeShape(Book, ['title'], value as never), isEmptyObject]],
      ['title', [(value) => writeShape(Book, [], { title: value } as never), isObject]],
      ['option', [(value) => new Router(value as never), isEmptyObject]],
      ['option', [(value) => mounted(PlainViewSet, value as object), isEmptyObject]],
      ['option', [(value) => action(value as never, async () => ({})), isEmptyObject]],
      [
        'option',
        [
          // Names are checked at registration, because features of the application may bring options.
          (value) => {
            const View = ModelViewSet(Book, value as never);
            return isEmptyObject(value) ? View : mounted(class extends View {});
          },
          isEmptyObject,
        ],
      ],
      ['option', [(value) => new HealthRegistry(value as never), isEmptyObject]],
    ];
    for (const [name, [build, fits]] of places) {
      for (const value of [null, nothing, ...WRONG]) {
        const error = await errorOf(async () => build(value));
        if (fits(value)) t.equal(error, undefined, `${name}: ${typeof value}`);
        else t.match(error?.message, new RegExp(name === 'throttles' ? 'throttles|rules' : name), name);
      }
    }
  });

  t.test('the plugin names the option that is of the wrong kind', async (t) => {
    for (const [options, message] of [
      [
        { pagination: 3 },
        /^viewset: option "pagination" must be a class that extends Paginator, or null for none, got 3$/,
      ],
      [
        { filters: [class X {}] },
        /^viewset: option "filters\[0\]" must be a class that extends Filter, got the function X$/,
      ],
      [{ filters: {} }, /^viewset: option "filters" must be an array/],
      [
        { health: {} },
        /^viewset: option "health" must be a HealthRegistry, or false for no health routes, got an object of Object$/,
      ],
      [{ health: true }, /option "health"/],
      [
        { ignoreUnknownParameters: 'x' },
        /^viewset: option "ignoreUnknownParameters" must be a boolean or an array of strings, got "x"$/,
      ],
      [{ ignoreUnknownParameters: [1] }, /option "ignoreUnknownParameters"/],
    ] as const) {
      t.match(await start(options), { message });
    }
    t.match(await start({ orm: { em: orm.em } as never }), {
      message: /^viewset: option "orm" comes from another copy of /,
    });
    t.equal(await start({ pagination: null, filters: [], health: false, ignoreUnknownParameters: true }), undefined);
    t.equal(await start({ health: new HealthRegistry() }), undefined);
  });

  t.test('an option that no filter of the view reads is rejected', async (t) => {
    const message =
      'BookViewSet: option "searchFields" is read by none of the view\'s filters (InPrintFilter); by default SearchFilter would. ' +
      'To add to the default filters: filters: [...DEFAULT_FILTERS, InPrintFilter]';
    t.match(await mount({ filters: [InPrintFilter], searchFields: ['title'] }), { message });
    const own = [InPrintFilter];
    t.match(await mount({ filters: own, filterFields: { title: 'title' } }), { message: /"filterFields"/ });
    t.match(await mount({ filters: own, jsonLogicFields: ['title'] }), { message: /"jsonLogicFields"/ });
    t.match(await mount({ filters: own, orderingFields: { title: 'title' } }), { message: /"orderingFields"/ });
    t.match(await mount({ filters: [], searchFields: ['title'] }), { message: /"searchFields"/ });
  });

  t.test('an option that a filter reads, or that is empty, is accepted', async (t) => {
    for (const options of [
      { filters: [CustomSearchFilter], searchFields: ['title'] },
      { filters: [FullTextFilter], searchFields: ['title'] },
      { filters: [LateFilter], searchFields: ['title'] },
      { filters: [InPrintFilter, HeirOfLateFilter], searchFields: ['title'] },
      { filters: [QueryParameterFilter], filterFields: { title: 'title' } },
      { filters: [JsonLogicFilter], filterFields: { title: 'title' } },
      { filters: [JsonLogicFilter], jsonLogicFields: ['title'] },
      { filters: [OrderingFilter], orderingFields: { title: 'title' } },
      { filters: [...DEFAULT_FILTERS, InPrintFilter], searchFields: ['title'], orderingFields: { title: 'title' } },
      { filters: [InPrintFilter], searchFields: [], filterFields: {}, orderingFields: {} },
    ]) {
      t.equal(await mount(options), undefined);
    }
    class LateViewSet extends ModelViewSet(Book, { read, filters: [LateFilter], searchFields: ['title'] }) {}
    const app = await testApp(t, orm, [new Router().register('books', LateViewSet)]);
    t.equal((await app.inject('/books?begins=X')).statusCode, 200);
    class SearchedViewSet extends ModelViewSet(Book, { read, searchFields: ['title'] }) {}
    const router = new Router().register('books', SearchedViewSet);
    await t.resolves(testApp(t, orm, [router], { options: { filters: [InPrintFilter] } }));
  });

  t.test('a view whose new records could not be stored is rejected', async (t) => {
    const mount = async (View: new () => ViewSet, own = orm) =>
      errorOf(() => testApp(t, own, [new Router().register('volumes', View)]));
    const shape = readShape(Volume, ['id', 'title']);
    const write = writeShape(Volume, ['title']);
    class VolumeViewSet extends ModelViewSet(Volume, { read: shape, write }) {}
    t.match(await mount(VolumeViewSet), {
      message:
        'VolumeViewSet: a new Volume cannot be stored without "publisher": a client need not send it in the write shape, it has no ' +
        'default, and the view overrides no performCreate that could fill it in',
    });
    const optional = writeShape(Volume, ['title', 'publisher'], {}, { optional: ['publisher', 'title'] });
    class OptionalViewSet extends ModelViewSet(Volume, { read: shape, write: optional }) {}
    t.match(await mount(OptionalViewSet), { message: /^OptionalViewSet: .* without "title", "publisher"/ });
    const byHand = Type.Object({
      title: Type.String({ default: 'Untitled' }),
      publisher: Type.Optional(Type.Integer()),
    });
    class HandViewSet extends ModelViewSet(Volume, { read: shape, write: byHand }) {}
    t.match(await mount(HandViewSet), { message: /^HandViewSet: .* without "publisher"/ });

    class FullViewSet extends ModelViewSet(Volume, {
      read: shape,
      write: writeShape(Volume, ['title', 'publisher']),
    }) {}
    class UpdatingViewSet extends ModelViewSet(Volume, { read: shape, write, operations: ['list', 'update'] }) {}
    class FillingViewSet extends ModelViewSet(Volume, { read: shape, write }) {
      override performCreate(request: FastifyRequest, data: WriteData<InferEntity<typeof Volume>, { title: string }>) {
        return super.performCreate(request, { ...data, publisher: 1 });
      }
    }
    class CreatingViewSet extends ModelViewSet(Volume, { read: shape, write }) {
      override async create() {
        return { id: 1, title: '' };
      }
    }
    class CodedViewSet extends ModelViewSet(Coded, { read: readShape(Coded, ['id']), write: writeShape(Coded, []) }) {}
    for (const View of [FullViewSet, UpdatingViewSet, FillingViewSet, CreatingViewSet, CodedViewSet]) {
      t.equal(await mount(View), undefined, View.name);
    }
    const fill = { beforeCreate: () => undefined };
    orm.em.getEventManager().registerSubscriber({ getSubscribedEntities: () => [Volume], ...fill });
    t.equal(await mount(VolumeViewSet), undefined, 'a subscriber may fill it in');
  });

  t.test('ordering by a column without an order is rejected', async (t) => {
    class NoteViewSet extends ModelViewSet(Note, { read: readShape(Note, ['id']), ordering: ['-data'] as never }) {}
    const message = 'NoteViewSet: ordering "-data": Note cannot be ordered by "data": it is of type json';
    t.match(await errorOf(() => testApp(t, orm, [new Router().register('notes', NoteViewSet)])), { message });
    t.match(await mount({ ordering: ['titel'] }), { message: /^BookViewSet: ordering "titel": .*"title"/ });
  });
});

t.test('the methods of an action are a list, and a wrong one is named', async (t) => {
  const handler = async () => ({});
  const expected = 'action(): option "methods" must be a list of get, post, put, patch, delete, got';
  t.throws(() => action({ methods: 'post' as never }, handler), new ImproperlyConfigured(`${expected} "post"`));
  t.throws(
    () => action({ methods: ['get', 'head' as never] }, handler),
    new ImproperlyConfigured(`${expected} "head"`),
  );
  t.throws(() => action({ methods: [undefined as never] }, handler), ImproperlyConfigured);
  t.throws(() => action({ methods: [] }, handler), new ImproperlyConfigured(`${expected} an array of 0`));
});

t.test('an action with GET cannot have a body', async (t) => {
  const handler = async () => ({});
  const body = Type.Object({});
  const message = 'action(): option "body" needs methods that take one, but "methods" has get';
  t.throws(() => action({ body }, handler), new ImproperlyConfigured(message));
  t.throws(() => action({ body, methods: ['post', 'get'] }, handler), new ImproperlyConfigured(message));
  t.doesNotThrow(() => action({ body, methods: ['post', 'delete'] }, handler));
});

t.test('the path of an action is made of ordinary characters', async (t) => {
  const handler = async () => ({});
  for (const urlPath of ['a(b', 'a)b', 'a%20b', 'a{b', 'a}b', 'a/', 'a/b/', '/a', 'a//b', ':pk', '*', '', 7 as never]) {
    t.throws(
      () => action({ urlPath }, handler),
      { name: 'ImproperlyConfigured', message: /"urlPath" must be a path/ },
      urlPath,
    );
  }
  for (const urlPath of ['a', 'pages/count', 'top-ten.json', 'größe']) {
    t.doesNotThrow(() => action({ urlPath }, handler));
  }
});

t.test('an action hides nothing of its view', async (t) => {
  const named = (Base: new () => ViewSet, name: string) =>
    class HidingViewSet extends Base {
      constructor() {
        super();
        Object.defineProperty(this, name, { value: action({}, async () => ({})), enumerable: true });
      }
      helper(): void {}
    };
  class PlainViewSet extends ViewSet {}
  class BookViewSet extends ModelViewSet(Book, { read }) {}
  const register = (Base: new () => ViewSet, name: string) => new Router().register('x', named(Base, name));
  for (const name of ['getAction', 'checkObjectPermissions', 'name', 'list', 'throttles', 'throttleRate', 'helper']) {
    const message = `HidingViewSet: action "${name}" hides the view's own ${name}; rename the property, and set its path by "urlPath"`;
    t.throws(() => register(PlainViewSet, name), new ImproperlyConfigured(message));
    t.throws(() => register(BookViewSet, name), new ImproperlyConfigured(message));
  }
  for (const name of ['getQueryset', 'represent', 'entity']) {
    t.throws(() => register(BookViewSet, name), ImproperlyConfigured);
  }
  t.doesNotThrow(() => register(BookViewSet, 'featured'));
});

t.test('computed() names the argument that is wrong', async (t) => {
  const make = computed as (...values: unknown[]) => unknown;
  const compute = () => '';
  t.throws(
    () => make(['title'], Type.String(), compute),
    new ImproperlyConfigured('computed(): option "schema" must be a schema, first, got an array of 1'),
  );
  t.throws(() => make(compute, ['title'], Type.String()), /option "schema"/);
  t.throws(
    () => make(Type.String(), 'title', compute),
    new ImproperlyConfigured('computed(): option "paths" must be an array of paths, second, got "title"'),
  );
  t.throws(() => make(Type.String(), compute, ['title']), /option "paths"/);
  t.throws(() => make(Type.String(), [7], compute), /option "paths"/);
  t.throws(
    () => make(Type.String(), ['title']),
    new ImproperlyConfigured('computed(): option "compute" must be a function, third, got undefined'),
  );
});

t.test('errors of ModelViewSet() name the entity', async (t) => {
  const wrong = (options: object) => () => ModelViewSet(Book, options as never);
  const orm = await openSqlite(t, { entities: LIBRARY });
  class Misspelt extends ModelViewSet(Book, { raed: read } as never) {}
  t.match(
    await errorAtStart(t, orm, Misspelt),
    /^Misspelt: unknown option "raed"; did you mean "read"\? Known options: read, .*live/,
  );
  t.throws(wrong({ read, operations: ['lst'] }), { message: /^ModelViewSet\(Book\): option "operations"/ });
  t.throws(wrong({ read, operations: ['create'] }), {
    message: 'ModelViewSet(Book): operation "create" needs the option "write"',
  });
  t.throws(() => ModelViewSet(undefined as never, {} as never), {
    message: /^ModelViewSet\(\): option "entity" must be an entity class or schema/,
  });
});

t.test('a path rule counts a route with and without its trailing slash as one', async (t) => {
  const rule = new PathRateLimit(1, 1);
  const key = (url: string) =>
    rule.key({ ip: '192.0.2.1', method: 'GET', headers: {}, routeOptions: { url } } as never);
  t.equal(key('/p/'), key('/p'));
  t.not(key('/'), key('/p'));
});

t.test('a misspelt guard of a view is refused, since it would guard nothing', async (t) => {
  const register = (view: new () => ViewSet) => () => new Router().register('books', view);
  class Unguarded extends ViewSet {
    permissionClass = [IsAuthenticated];
  }
  t.throws(register(Unguarded), {
    name: 'ImproperlyConfigured',
    message: 'Unguarded: "permissionClass" is never read; did you mean "permissionClasses"?',
  });
  class Guarded extends ViewSet {
    override permissionClasses = [IsAuthenticated];
    permissions = ['own'];
  }
  t.doesNotThrow(register(Guarded));
  class Throttled extends ViewSet {
    override throttles = [PathRateLimit] as never;
  }
  t.throws(register(Throttled), {
    message: /^Throttled: option "throttles\[0\]" must be a rule such as new IPRateLimit\(100, 60\), got the function/,
  });
});

t.test('a misspelt hook is rejected because it would never be called; other methods are accepted', async (t) => {
  const errorOf = (Base: new () => ViewSet, name: string, isField = false): string | undefined => {
    class CustomViewSet extends Base {
      constructor() {
        super();
        if (isField) Object.assign(this, { [name]: () => undefined });
      }
    }
    if (!isField) Object.defineProperty(CustomViewSet.prototype, name, { value: () => undefined });
    try {
      new Router().register('books', CustomViewSet);
      return undefined;
    } catch (error) {
      t.type(error, ImproperlyConfigured);
      return (error as Error).message;
    }
  };
  class PlainViewSet extends ViewSet {}
  class BookViewSet extends ModelViewSet(Book, { read }) {}
  class NamedViewSet extends BookViewSet {
    override performCreate() {
      return Promise.reject(new Error());
    }
  }
  for (const [name, meant] of [
    ['perfomCreate', 'performCreate'],
    ['performCreat', 'performCreate'],
    ['performCraete', 'performCreate'],
    ['performDestory', 'performDestroy'],
    ['preformUpdate', 'performUpdate'],
    ['getQuerySet', 'getQueryset'],
    ['getQuerset', 'getQueryset'],
    ['filterQuerySet', 'filterQueryset'],
    ['checkObjectPermission', 'checkObjectPermissions'],
    ['getObjct', 'getObject'],
    ['reprsent', 'represent'],
    ['udpate', 'update'],
    ['retreive', 'retrieve'],
    ['throttelRate', 'throttleRate'],
  ] as const) {
    const message = `CustomViewSet: "${name}" is never called; did you mean "${meant}"?`;
    t.equal(errorOf(BookViewSet, name), message);
    t.equal(errorOf(BookViewSet, name, true), message);
  }
  t.match(errorOf(PlainViewSet, 'destory'), /did you mean "destroy"/);
  t.match(errorOf(PlainViewSet, 'throttleRat'), /did you mean "throttleRate"/);
  t.equal(errorOf(PlainViewSet, 'getQuerySet'), undefined, 'a plain view has no such hook');
  t.equal(errorOf(NamedViewSet, 'perfomCreate'), undefined, 'the hook itself is there');
  for (const name of [
    'getObjects',
    'setObject',
    'performDelete',
    'performCreateMany',
    'created',
    'updated',
    'lists',
    'last',
    'row',
    'getActor',
    'helper',
    'presentation',
    'getName',
    'createAll',
    'queryset',
  ]) {
    t.equal(errorOf(BookViewSet, name), undefined, name);
    t.equal(errorOf(BookViewSet, name, true), undefined, name);
  }
});
