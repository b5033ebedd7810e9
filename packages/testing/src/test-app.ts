import { randomUUID } from 'node:crypto';
import type { EntityName, MikroORM } from '@mikro-orm/core';
import { forkForAllTenants, type TenantKey } from '@viewset/core';
import { type Client, createClient, type ClientOptions } from '@viewset/client';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { Clock } from './clock.ts';
import { type OpenDatabase, openDatabase, type OrmOptions, type SchemaOption, type TestDatabase } from './databases.ts';
import { expectQueries } from './expect-queries.ts';
import { Factories } from './factories.ts';
import { Factory, type FactoryOverrides } from './factory.ts';
import { injectFetch } from './inject-fetch.ts';
import { Bodies, type Body } from './bodies.ts';
import { type ViewClass, ViewPlans } from './view-plans.ts';

/** The options of `testApp`. */
export interface TestAppOptions {
  /** The application's entities, as in its own ORM. */
  readonly entities: OrmOptions['entities'];
  /** The database. Default: the variable `TEST_DATABASE`, else `sqlite`. */
  readonly database?: TestDatabase;
  /** More MikroORM options, the same for every database. Default: none. */
  readonly orm?: OrmOptions['orm'];
  /**
   * How the database gets its tables.
   *
   * - `entities` (default): from the entities.
   * - `migrations`: by the migrations. `orm` has the extension `Migrator` and the option `migrations`.
   * - A function: for extensions, triggers, exclusion constraints and policies. It calls `orm.schema.create()` itself.
   *
   * On PostgreSQL it runs on the template, once in a process for each function and each object `orm`.
   */
  readonly schema?: SchemaOption;
  /** The path of the router that clients use. Default: `/api`. */
  readonly prefix?: string;
}

/** The client options of `as`: those of `@viewset/client` without the URL, the token and `fetch`. */
export type ClientOfUserOptions = Omit<ClientOptions, 'url' | 'token' | 'fetch'>;

/**
 * Builds an application on a new, empty database: SQLite in memory, or one on the server of `TEST_POSTGRES_URL` or
 * `TEST_MONGODB_URL`. `build` is your application's own function. It must not call `ready` or `listen`. Close the
 * result when the test ends, or declare it with `await using`.
 *
 * On PostgreSQL the schema is created once, in a template database. Later databases are copies of it. The template
 * stays on the server until you drop it. The option `schema` adds what entities do not declare.
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
  const { entities, orm = NO_OPTIONS, schema = 'entities', prefix = '/api' } = options;
  const database = options.database ?? databaseOfEnvironment();
  const opened = await openDatabase(database, { entities, orm, schema });
  let app: App | undefined;
  try {
    app = await build(opened.orm as unknown as Orm);
    const users = identifyUsers(app);
    await app.ready();
    return new TestApp(app, opened, { users, prefix });
  } catch (error) {
    // What had started already, such as the worker of an outbox, would keep the process alive.
    await app?.close();
    await opened.drop();
    throw error;
  }
}

const NO_OPTIONS: OrmOptions['orm'] = {};

function databaseOfEnvironment(): TestDatabase {
  const { TEST_DATABASE: name = '' } = process.env;
  return name === '' ? 'sqlite' : (name as TestDatabase);
}

/** Returns the headers that identify a request's user. */
type Identify = (user: object) => Readonly<Record<string, string>>;

interface AppWithAuth {
  readonly auth: { readonly tokenScheme: string; issueToken(account: object): string };
}

/** Finds how requests identify their user: by a token of `@viewset/auth`, else by a header that a hook reads. */
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

/** The body of a view's operation; for actions, any body. */
export type BodyFor<View, Name> = View extends { readonly '~declared'?: infer Declared }
  ? Name extends 'create'
    ? Member<Declared, 'input'>
    : Name extends 'update'
      ? Member<Declared, 'update'>
      : Body
  : Body;

type Member<Declared, Name extends string> =
  NonNullable<Declared> extends Readonly<Record<Name, infer Value>> ? Value : Body;

/** An application under test with its own database, made by `testApp`. */
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
   * Makes a client, typed like the real one, that sends requests as a user. With null, requests are anonymous. With
   * `@viewset/auth`, pass an account whose role is loaded; it gets a token. Otherwise the object becomes
   * `request.user`.
   *
   * The client does not repeat requests, unless the options say so.
   */
  as<Api>(user: object | null, options: ClientOfUserOptions = {}): Client<Api> {
    const headers = { ...this.headersOf(user), ...options.headers };
    const url = `http://localhost${this.prefix}`;
    return createClient<Api>({ retries: 0, ...options, headers, url, fetch: injectFetch(this.app) });
  }

  /**
   * Sends a request with `app.inject`, as a user or anonymously. Use it for headers, malformed bodies, and whatever
   * else the client of `as` does not show.
   */
  inject(user: object | null, request: InjectOptions): Promise<LightMyRequestResponse> {
    return this.app.inject({ ...request, headers: { ...this.headersOf(user), ...request.headers } });
  }

  /** Returns the headers for a user's requests; none for null. */
  headersOf(user: object | null): Readonly<Record<string, string>> {
    return user === null ? {} : this.#identify(user);
  }

  /** Runs some work, and throws if the number of queries differs. Works like the function `expectQueries`. */
  expectQueries<Result>(expected: number, work: () => Result | Promise<Result>): Promise<Result> {
    return expectQueries(this.#opened.orm, expected, work);
  }

  /**
   * Chooses the tenant of the records that `factory` and `bodyFor` make from now on, if the ORM has a `tenant()`. Without
   * it, each record needs its tenant in the overrides, or gets a new one.
   *
   * @example
   * const shop = await testApp(() => fastify(), { entities: [Account, Product] });
   * const owner = await shop.factory(Account).create();
   * shop.setTenant(owner.id);
   * await shop.factory(Product).createMany(3);   // three products of the owner
   */
  setTenant(tenant: TenantKey): void {
    this.#factories.tenant = tenant;
  }

  /** Forks the entity manager. With a `tenant()`, the fork works for the records of all tenants. */
  forkAll(): Orm['em'] {
    return forkForAllTenants(this.orm.em);
  }

  /** Makes a factory for records of an entity. The overrides replace generated values. */
  factory<Entity extends object>(
    entity: EntityName<Entity>,
    overrides: FactoryOverrides<Entity> = {},
  ): Factory<Entity> {
    return new Factory(this.#factories, entity, overrides);
  }

  /**
   * Makes a valid body for an operation or action of a view. Every field of the write shape gets a value that fits its
   * schema and differs between bodies. References point to new records, made by `factory`. `given` sets some fields.
   *
   * Throws for files, and for fields whose pattern the kit does not know, unless `given` has them.
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
