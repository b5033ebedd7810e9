/** Every callback of an application that can let a request in, with everything it may throw or answer in place of a yes. */
import { setImmediate } from 'node:timers/promises';
import fastify, { type FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  computed,
  DEFAULT_FILTERS,
  Filter,
  HealthCheck,
  HealthRegistry,
  type HitResult,
  IPRateLimit,
  IsAuthenticated,
  MemoryStore,
  ModelViewSet,
  Permission,
  type PermissionClass,
  PageNumberPagination,
  RateLimitRule,
  readShape,
  Router,
  serverOptions,
  type Store,
  UserRateLimit,
  viewset,
  ViewSet,
  type ViewsetOptions,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY, testApp } from '../support/library.ts';

const isRecord = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A user's function that throws, rejects or answers as the case says, whatever its type promises. */
type Answer = () => never;

const THROWN: readonly unknown[] = [undefined, null, false, '', 0, Number.NaN, 'no', {}];
const NO_YES: readonly unknown[] = [undefined, null, false, '', 0, 1, 'yes', {}, [], () => true];

/** An object that is awaited like a promise and is none. */
function thenable(thenOrCatch: (resolve: (value: unknown) => void, reject: (reason: unknown) => void) => void): object {
  // oxlint-disable-next-line unicorn/no-thenable -- what is tested
  return { then: thenOrCatch };
}

function waysToThrow(value: unknown): Readonly<Record<string, Answer>> {
  const ways: Record<string, () => unknown> = {
    throws: () => {
      throw value;
    },
    rejects: async () => {
      throw value;
    },
    'rejects later': async () => {
      await setImmediate();
      throw value;
    },
    'is a thenable that rejects': () => thenable((_resolve, reject) => reject(value)),
  };
  return ways as Record<string, Answer>;
}

function waysToReturn(value: unknown): Readonly<Record<string, Answer>> {
  const ways: Record<string, () => unknown> = {
    answers: () => value,
    resolves: () => Promise.resolve(value),
    'is a thenable that resolves': () => thenable((resolve) => resolve(value)),
  };
  return ways as Record<string, Answer>;
}

interface Place {
  readonly permissions?: readonly PermissionClass[];
  readonly options?: Partial<ViewsetOptions>;
  /** Hooks of the view. */
  readonly hooks?: object;
}

/** A permission with one question answered by the case. */
function permission(question: 'hasPermission' | 'hasObjectPermission' | 'scope', answer: Answer): PermissionClass {
  class FromCallback extends Permission {}
  Object.defineProperty(FromCallback.prototype, question, { value: answer });
  return FromCallback;
}

class CallbackRule extends RateLimitRule {
  readonly #answer: Answer;
  constructor(answer: Answer) {
    super(5, 60);
    this.#answer = answer;
  }
  key(): string {
    return this.#answer();
  }
}

class CallbackUserRule extends CallbackRule {
  override readonly phase = 'user';
}

function callbackStore(hit: () => HitResult): Store {
  return Object.assign(Object.create(new MemoryStore()) as Store, { hit });
}

class Yes extends Permission {
  override hasObjectPermission() {
    return true;
  }
}

/** Callbacks that answer yes or no, and the status of a no. */
const QUESTIONS: Readonly<Record<string, { place: (answer: Answer) => Place; no: number; record?: boolean }>> = {
  hasPermission: { place: (answer) => ({ permissions: [permission('hasPermission', answer)] }), no: 401 },
  'hasPermission, and another class': {
    place: (answer) => ({ permissions: [permission('hasPermission', answer).and(Yes)] }),
    no: 401,
  },
  'hasPermission, or a class that refuses': {
    place: (answer) => ({
      permissions: [permission('hasPermission', answer).or(permission('hasPermission', () => false as never))],
    }),
    no: 401,
  },
  "the plugin's permissionClasses": {
    place: (answer) => ({ options: { permissionClasses: [permission('hasPermission', answer)] } }),
    no: 401,
  },
  hasObjectPermission: {
    place: (answer) => ({ permissions: [permission('hasObjectPermission', answer)] }),
    no: 401,
    record: true,
  },
  'hasObjectPermission, and another class': {
    place: (answer) => ({ permissions: [Yes.and(permission('hasObjectPermission', answer))] }),
    no: 401,
    record: true,
  },
  "the view's throttleRate": { place: (answer) => ({ hooks: { throttleRate: answer } }), no: 429 },
  "the plugin's throttleRate": { place: (answer) => ({ options: { throttleRate: answer } }), no: 429 },
};

/** Callbacks that may not fail unseen, whatever they answer. */
interface Step {
  readonly place: (answer: Answer) => Place;
  /** The requests that come by it: those on a record, those that create, or all. */
  readonly record?: boolean;
  readonly write?: boolean;
}

const STEPS: Readonly<Record<string, Step>> = {
  scope: { place: (answer) => ({ permissions: [permission('scope', answer)] }) },
  'scope, not': { place: (answer) => ({ permissions: [permission('scope', answer).not()] }) },
  'hasPermission, not': { place: (answer) => ({ permissions: [permission('hasPermission', answer).not()] }) },
  'hasObjectPermission, not': {
    place: (answer) => ({ permissions: [permission('hasObjectPermission', answer).not()] }),
    record: true,
  },
  "an address rule's key": { place: (answer) => ({ options: { throttles: [new CallbackRule(answer)] } }) },
  "a user rule's key": { place: (answer) => ({ options: { throttles: [new CallbackUserRule(answer)] } }) },
  getQueryset: { place: (answer) => ({ hooks: { getQueryset: answer } }) },
  filterQueryset: { place: (answer) => ({ hooks: { filterQueryset: answer } }) },
  "the plugin's user": { place: (user) => ({ options: { user }, permissions: [IsAuthenticated] }) },
  represent: { place: (answer) => ({ hooks: { represent: answer } }) },
  'a filter': { place: (answer) => ({ options: { filters: [...DEFAULT_FILTERS, callbackFilter(answer)] } }) },
  'a paginator': { place: (answer) => ({ options: { pagination: callbackPaginator(answer) } }) },
  getObject: { place: (answer) => ({ hooks: { getObject: answer } }), record: true },
  list: { place: (answer) => ({ hooks: { list: answer } }) },
  performCreate: { place: (answer) => ({ hooks: { performCreate: answer } }), write: true },
};

function callbackFilter(answer: Answer): typeof Filter & (new () => Filter) {
  return class extends Filter {
    override readonly parameters = [];
    override apply() {
      return answer();
    }
  } as never;
}

function callbackPaginator(answer: Answer): typeof PageNumberPagination {
  return class extends PageNumberPagination {
    override paginate() {
      return answer();
    }
  };
}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm, database) => {
  await fillLibrary(orm);
  // The values make no difference to a database; whether what was begun is rolled back does.
  const thrownValues = database === 'sqlite' ? THROWN : THROWN.slice(0, 3);
  const returnedValues = database === 'sqlite' ? NO_YES : NO_YES.slice(0, 3);
  const countBooks = () => orm.em.fork().count(Book);

  /** An application in which one callback is the case's; the callback can be exchanged between requests. */
  const serve = async (place: (answer: Answer) => Place) => {
    let answer: Answer;
    const { permissions, options, hooks } = place(() => answer());
    class BookViewSet extends ModelViewSet(Book, {
      read: readShape(Book, ['id', 'title']),
      write: writeShape(Book, ['title', 'pages']),
      ...(permissions === undefined ? {} : { permissionClasses: permissions }),
    }) {
      static {
        for (const [name, hook] of Object.entries(hooks ?? {})) {
          Object.defineProperty(this.prototype, name, { value: hook });
        }
      }
      touch = action({ detail: true, methods: ['post'] }, async () => ({ touched: true }));
    }
    const app = await testApp(t, orm, [new Router().register('books', BookViewSet)], options ? { options } : {});
    const ask = async (next: Answer, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string) => {
      answer = next;
      const payload = method === 'POST' || method === 'PATCH' ? { title: 'Fir', pages: 1 } : undefined;
      const response = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
      return { status: response.statusCode, code: response.body === '' ? '' : response.json().code };
    };
    return { app, ask };
  };

  /** The requests that are answered otherwise than with a status. */
  const otherStatuses = async (
    ask: Awaited<ReturnType<typeof serve>>['ask'],
    answer: Answer,
    requests: readonly (readonly ['GET' | 'POST' | 'PATCH' | 'DELETE', string])[],
    status: number,
  ): Promise<string[]> => {
    const others: string[] = [];
    for (const [method, url] of requests) {
      const got = await ask(answer, method, url);
      if (got.status !== status) others.push(`${method} ${url} is ${got.status}`);
    }
    return others;
  };

  const REQUESTS = [
    ['GET', '/books'],
    ['POST', '/books'],
    ['GET', '/books/1'],
    ['PATCH', '/books/1'],
    ['DELETE', '/books/1'],
    ['POST', '/books/1/touch'],
  ] as const;
  const requestsOf = (name: string, { record = false, write = false }: { record?: boolean; write?: boolean }) => {
    if (['filterQueryset', 'a filter', 'a paginator', 'list', 'represent'].includes(name)) return [REQUESTS[0]];
    if (name === 'getQueryset') return REQUESTS.filter(([, url], place) => place === 0 || url !== '/books');
    return REQUESTS.filter(([, url], place) => (write ? place === 1 : !record || url !== '/books'));
  };

  for (const [name, { place, ...rest }] of Object.entries({ ...QUESTIONS, ...STEPS })) {
    t.test(`${name} that throws or rejects refuses the request, for every thrown value`, async (t) => {
      const { ask } = await serve(place);
      const before = await countBooks();
      const requests = requestsOf(name, rest);
      for (const value of thrownValues) {
        for (const [way, answer] of Object.entries(waysToThrow(value))) {
          const others = await otherStatuses(ask, answer, requests, 500);
          if (others.length > 0) t.fail(`${way} ${String(value)}: ${others.join()}`);
        }
      }
      t.equal(await countBooks(), before, 'nothing is written');
    });
  }

  for (const [name, { place, no, ...rest }] of Object.entries(QUESTIONS)) {
    t.test(`${name} admits the request only with the value true`, async (t) => {
      const { ask } = await serve(place);
      const before = await countBooks();
      for (const value of returnedValues) {
        for (const [way, answer] of Object.entries(waysToReturn(value))) {
          const others = await otherStatuses(ask, answer, requestsOf(name, rest), no);
          if (others.length > 0) t.fail(`${way} ${String(value)}: ${others.join()}`);
        }
      }
      t.equal(await countBooks(), before, 'nothing is written');
      for (const [way, answer] of Object.entries(waysToReturn(true))) {
        t.equal((await ask(answer, 'GET', '/books/1')).status, 200, `${way} true`);
      }
    });
  }

  t.test(
    'a refinement accepts a value only with true; a refinement or computed field that returns a promise is an error',
    async (t) => {
      let answer: Answer;
      class BookViewSet extends ModelViewSet(Book, {
        read: readShape(Book, ['id'], { shown: computed(Type.String(), ['title'], ({ title }) => title) }),
        write: Type.Object({ title: Type.Refine(Type.String({ maxLength: 50 }), () => answer()) }),
      }) {
        told = action({ response: Type.Object({ told: Type.String() }) }, async (request) => {
          const shape = readShape(Book, ['id'], { told: computed(Type.String(), ['title'], () => answer()) });
          return (await this.getQueryset(request).slice(0, 1).rows(shape.bind(this.meta, orm.em.getPlatform())))[0]!;
        });
      }
      const app = await testApp(t, orm, [new Router().register('books', BookViewSet)]);
      const statusOf = async (next: Answer, method: 'GET' | 'POST', url: string) => {
        answer = next;
        const payload = method === 'POST' ? { payload: { title: 'Fir' } } : {};
        return (await app.inject({ method, url, ...payload })).statusCode;
      };
      const before = await countBooks();
      for (const value of returnedValues) {
        const { answers, ...later } = waysToReturn(value);
        t.equal(await statusOf(answers!, 'POST', '/books'), 400, `answers ${String(value)}`);
        for (const [way, promised] of Object.entries(later)) {
          t.equal(await statusOf(promised, 'POST', '/books'), 500, `${way} ${String(value)}`);
          t.equal(await statusOf(promised, 'GET', '/books/told'), 500, `${way} ${String(value)}, computed`);
        }
      }
      for (const value of thrownValues) {
        for (const [way, thrown] of Object.entries(waysToThrow(value))) {
          t.equal(await statusOf(thrown, 'POST', '/books'), 500, `${way} ${String(value)}`);
          t.equal(await statusOf(thrown, 'GET', '/books/told'), 500, `${way} ${String(value)}, computed`);
        }
      }
      t.equal(await countBooks(), before, 'nothing is written');
      t.equal(await statusOf((() => true) as Answer, 'POST', '/books'), 201);
    },
  );

  t.test('a user that is not an object counts as not logged in', async (t) => {
    const { ask } = await serve((user) => ({ options: { user }, permissions: [IsAuthenticated] }));
    for (const value of [...returnedValues.filter((each) => !isRecord(each)), [{ id: 1 }]]) {
      t.equal((await ask((() => value) as Answer, 'GET', '/books')).status, 401, typeof value);
    }
    t.equal((await ask((() => ({ id: 1 })) as unknown as Answer, 'GET', '/books')).status, 200);
  });

  t.test("a rule's key is a text or undefined", async (t) => {
    const { ask } = await serve((answer) => ({ options: { throttles: [new CallbackRule(answer)] } }));
    for (const value of returnedValues.filter((value) => value !== undefined && typeof value !== 'string')) {
      const got = await ask((() => value) as Answer, 'GET', '/books');
      t.strictSame(got, { status: 500, code: 'improperly_configured' }, typeof value);
    }
    t.equal((await ask((() => undefined) as Answer, 'GET', '/books')).status, 200);
  });

  t.test('a scope that is neither a condition nor undefined is an error that names the class', async (t) => {
    const { ask } = await serve(STEPS['scope']!.place);
    for (const value of NO_YES.filter((value) => value !== undefined)) {
      for (const [way, answer] of Object.entries(waysToReturn(value))) {
        const got = await ask(answer, 'GET', '/books');
        t.strictSame(got, { status: 500, code: 'improperly_configured' }, `${way} ${typeof value}`);
      }
    }
    t.equal((await ask((() => undefined) as Answer, 'GET', '/books')).status, 200, 'undefined: all records');
  });

  t.test(
    'a rate-limit store admits a request only with true; if it throws, a rule with failClosed refuses',
    async (t) => {
      for (const phase of ['address', 'user'] as const) {
        const { ask } = await serve((answer) => ({
          options: {
            throttleRate: () => true,
            throttles: [
              new (phase === 'address' ? IPRateLimit : CallbackUserKey)(5, 60, {
                failClosed: true,
                store: callbackStore(answer),
              }),
            ],
          },
        }));
        const result = { remaining: 1, retryAfterMs: 0, resetMs: 1000, stamp: 1 };
        for (const allowed of returnedValues) {
          for (const [way, answer] of Object.entries(waysToReturn({ ...result, allowed }))) {
            const { status } = await ask(answer, 'GET', '/books');
            t.equal(status, 429, `${phase}: ${way} ${String(allowed)}`);
          }
        }
        for (const value of returnedValues) {
          for (const [way, answer] of Object.entries(waysToReturn(value))) {
            const { status } = await ask(answer, 'GET', '/books');
            t.ok(status === 500 || status === 429, `${phase}: no result at all, ${way} ${String(value)}: ${status}`);
          }
        }
        for (const value of thrownValues) {
          for (const [way, answer] of Object.entries(waysToThrow(value))) {
            t.equal((await ask(answer, 'GET', '/books')).status, 503, `${phase}: ${way} ${String(value)}`);
          }
        }
        for (const [way, answer] of Object.entries(waysToReturn({ ...result, allowed: true }))) {
          t.equal((await ask(answer, 'GET', '/books')).status, 200, `${phase}: ${way} true`);
        }
      }
    },
  );

  t.test('a health check passes only with true', async (t) => {
    const health = new HealthRegistry({ cacheMs: 0 });
    let answer: Answer = () => true as never;
    class FromCallback extends HealthCheck {
      override readonly name = 'told';
      override async check() {
        return answer();
      }
    }
    health.register(new FromCallback());
    const { app } = await serve(() => ({ options: { health } }));
    t.equal((await app.inject('/health/')).statusCode, 200);
    const ways = [...NO_YES.map(waysToReturn), ...THROWN.map(waysToThrow)].flatMap((way) => Object.entries(way));
    for (const [way, next] of ways) {
      answer = next;
      t.equal((await app.inject('/health/')).statusCode, 503, way);
    }
  });

  t.test('the log contains the thrown value', async (t) => {
    const lines: { level: number; err?: { message: string } }[] = [];
    const app = fastify(
      serverOptions({ logger: { stream: { write: (line: string) => void lines.push(JSON.parse(line)) } } }),
    );
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    let answer: Answer;
    class ThingViewSet extends ViewSet {
      override permissionClasses = [permission('hasPermission', () => answer())];
      override list() {
        return { things: [] };
      }
    }
    await app.register(new Router().register('things', ThingViewSet).plugin);
    for (const value of [undefined, 0, 'no']) {
      for (answer of Object.values(waysToThrow(value))) {
        lines.length = 0;
        t.equal((await app.inject('/things')).statusCode, 500);
        const errors = lines.filter(({ level }) => level >= 50).map(({ err }) => err?.message);
        const received = value === 'no' ? '"no"' : String(value);
        t.strictSame(errors, [`${received} was thrown or rejected with, instead of an Error`]);
      }
    }
  });

  t.test('only an object is a user who is logged in', async (t) => {
    let user: unknown;
    class BooksOfUsers extends ModelViewSet(Book, {
      read: readShape(Book, ['id']),
      permissionClasses: [IsAuthenticated],
    }) {}
    const routers = [new Router().register('books', BooksOfUsers)];
    const app = await testApp(t, orm, routers, {
      before: (app) => {
        app.addHook('onRequest', async (request) => void (request.user = user as never));
      },
    });
    for (user of [undefined, null, false, '', 0, 1, 'anna', true]) {
      t.equal((await app.inject('/books')).statusCode, 401, String(user));
    }
    user = { id: 1 };
    t.equal((await app.inject('/books')).statusCode, 200);
  });
});

/** Counts everybody alike, in the phase of users. */
class CallbackUserKey extends UserRateLimit {
  override key(_request: FastifyRequest): string {
    return 'everybody';
  }
}
