import { randomUUID } from 'node:crypto';
import type { EntityName, MikroORM } from '@mikro-orm/core';
import { type Client, createClient, type ClientOptions } from '@viewset/client';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { Clock } from './clock.ts';
import { type OpenDatabase, openDatabase, type OrmOptions, type TestDatabase } from './databases.ts';
import { expectQueries } from './expect-queries.ts';
import { Factories } from './factories.ts';
import { Factory, type FactoryOverrides } from './factory.ts';
import { injectFetch } from './inject-fetch.ts';
import { Bodies, type Body } from './bodies.ts';
import { type ViewClass, ViewPlans } from './view-plans.ts';

/** The options of `testApp`. */
export interface TestAppOptions {
  /** The entities of the application, as its own ORM has them. */
  readonly entities: OrmOptions['entities'];
  /** The database. Default: the variable `TEST_DATABASE`, else `sqlite`. */
  readonly database?: TestDatabase;
  /** Further options of MikroORM, the same for every database. Default: none. */
  readonly orm?: OrmOptions['orm'];
  /** The path of the router that clients call. Default: `/api`. */
  readonly prefix?: string;
}

/** The options of a client of `as`: those of `@viewset/client` without the URL, the token and `fetch`. */
export type ClientOfUserOptions = Omit<ClientOptions, 'url' | 'token' | 'fetch'>;

/**
 * Builds an application on a new, empty database: SQLite in memory, or a database on the server of `TEST_POSTGRES_URL` or
 * `TEST_MONGODB_URL`. `build` is your application's own function. It must not call `ready` or `listen`. Close the result when the test
 * ends, or declare it by `await using`.
 *
 * On PostgreSQL the schema is created once, in a template database, which later databases are copied from. The template stays on the server
 * until you drop it.
 *
 * @example
 * const build = async (orm: MikroORM) => {
 *   const app = fastify();
 *   await app.register(viewset, { orm });
 *   return app;
 * };
 * const shop = await testApp(build, { entities: [Product] });
 * await shop.app.inject('/api/products');
 * await shop.close();
 */
export async function testApp<Orm extends MikroORM, App extends FastifyInstance>(
  build: (orm: Orm) => App | Promise<App>,
  options: TestAppOptions,
): Promise<TestApp<Orm, App>> {
  const { entities, orm = {}, prefix = '/api' } = options;
  const database = options.database ?? databaseOfEnvironment();
  const opened = await openDatabase(database, { entities, orm });
  try {
    const app = await build(opened.orm as unknown as Orm);
    const users = identifyUsers(app);
    await app.ready();
    return new TestApp(app, opened, { users, prefix });
  } catch (error) {
    await opened.drop();
    throw error;
  }
}

function databaseOfEnvironment(): TestDatabase {
  const { TEST_DATABASE: name = '' } = process.env;
  return name === '' ? 'sqlite' : (name as TestDatabase);
}

/** Gives the headers that make a request one of a user. */
type Identify = (user: object) => Readonly<Record<string, string>>;

interface AppWithAuth {
  readonly auth: { readonly tokenScheme: string; issueToken(account: object): string };
}

/** Finds how requests say whose they are: by a token of `@viewset/auth`, else by a header that a hook reads. */
function identifyUsers(app: FastifyInstance): Identify {
  if (app.hasDecorator('auth')) {
    const { auth } = app as unknown as AppWithAuth;
    return (user) => ({ authorization: `${auth.tokenScheme} ${auth.issueToken(user)}` });
  }
  const header = 'x-test-user';
  const users = new Map<string, object>();
  app.addHook('onRequest', async (request) => {
    const user = users.get(String(request.headers[header]));
    if (user !== undefined) (request as { user: unknown }).user = user;
  });
  return (user) => {
    const key = randomUUID();
    users.set(key, user);
    return { [header]: key };
  };
}

/** The body of an operation of a view; of an action, any. */
export type BodyFor<View, Name> = View extends { readonly '~declared'?: infer Declared }
  ? Name extends 'create'
    ? Member<Declared, 'input'>
    : Name extends 'update'
      ? Member<Declared, 'update'>
      : Body
  : Body;

type Member<Declared, Name extends string> =
  NonNullable<Declared> extends Readonly<Record<Name, infer Value>> ? Value : Body;

/** An application under test, on a database of its own; `testApp` makes it. */
export class TestApp<Orm extends MikroORM = MikroORM, App extends FastifyInstance = FastifyInstance> {
  readonly app: App;
  readonly orm: Orm;
  /** The path of the router, `/api`. */
  readonly prefix: string;
  /** Moves the time of the process until the application is closed. */
  readonly clock = new Clock();
  readonly #opened: OpenDatabase;
  readonly #identify: Identify;
  readonly #factories: Factories;
  readonly #bodies: Bodies;

  constructor(
    app: App,
    opened: OpenDatabase,
    { users, prefix }: { readonly users: Identify; readonly prefix: string },
  ) {
    this.app = app;
    this.orm = opened.orm as unknown as Orm;
    this.prefix = `/${prefix.replaceAll(/^\/+|\/+$/g, '')}`;
    this.#opened = opened;
    this.#identify = users;
    this.#factories = new Factories(opened.orm);
    this.#bodies = new Bodies(this.#factories);
  }

  /**
   * Makes a client of the API, typed like the real one, that sends requests as a user; with null, anonymous ones. With `@viewset/auth`,
   * give an account whose role is loaded; it gets a token. Without, the object becomes `request.user`.
   *
   * The client does not repeat requests, unless the options say so.
   */
  as<Api>(user: object | null, options: ClientOfUserOptions = {}): Client<Api> {
    const headers = { ...this.headersOf(user), ...options.headers };
    const url = `http://localhost${this.prefix}`;
    return createClient<Api>({ retries: 0, ...options, headers, url, fetch: injectFetch(this.app) });
  }

  /** Sends a request as a user, or an anonymous one, by `app.inject`. For what the client of `as` does not show: headers, malformed bodies. */
  inject(user: object | null, request: InjectOptions): Promise<LightMyRequestResponse> {
    return this.app.inject({ ...request, headers: { ...this.headersOf(user), ...request.headers } });
  }

  /** Returns the headers that a request needs to be a user's; none for null. */
  headersOf(user: object | null): Readonly<Record<string, string>> {
    return user === null ? {} : this.#identify(user);
  }

  /** Runs some work and throws if the number of queries differs, as `expectQueries` does. */
  expectQueries<Result>(expected: number, work: () => Result | Promise<Result>): Promise<Result> {
    return expectQueries(this.#opened.orm, expected, work);
  }

  /** Makes a factory for records of an entity. The overrides replace generated values. */
  factory<Entity extends object>(
    entity: EntityName<Entity>,
    overrides: FactoryOverrides<Entity> = {},
  ): Factory<Entity> {
    return new Factory(this.#factories, entity, overrides);
  }

  /**
   * Makes a valid body of a view's operation or action. Every field of its write shape has a value that fits its schema and differs from
   * body to body. References refer to new records, made by `factory`. `given` has values of some fields.
   *
   * Throws for a field whose pattern the kit does not know, and for a file, if `given` does not have it.
   *
   * @example
   * const build = async (orm: MikroORM) => {
   *   const app = fastify();
   *   await app.register(viewset, { orm });
   *   await app.register(new Router({ prefix: 'api' }).register('products', ProductViewSet).plugin);
   *   return app;
   * };
   * const shop = await testApp(build, { entities: [Product] });
   * const body = await shop.bodyFor(ProductViewSet, 'create', { price: 4.5 });   // { name: 'name 1', price: 4.5 }
   */
  async bodyFor<View extends ViewClass, Name extends string>(
    view: View,
    operation: Name,
    given: Partial<BodyFor<View, Name>> = {},
  ): Promise<BodyFor<View, Name>> {
    const { body } = new ViewPlans(this.app, view).get(operation);
    if (body?.schema === undefined) throw new Error(`${view.name}: "${operation}" takes no body`);
    return (await this.#bodies.make(body.schema, given)) as BodyFor<View, Name>;
  }

  /** Closes the application and its ORM, drops the database and resets the clock. */
  async close(): Promise<void> {
    this.clock.reset();
    try {
      await this.app.close();
    } finally {
      await this.#opened.drop();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
