import type { MikroORM } from '@mikro-orm/core';
import type { TenantKey } from '@viewset/core';
import type { FastifyInstance } from 'fastify';
import type { Body } from '../bodies.ts';
import type { TestApp } from '../test-app.ts';

type Awaitable<Value> = Value | Promise<Value>;

/** The options of `testViewSet`. */
export interface TestViewSetOptions<Orm extends MikroORM = MikroORM, App extends FastifyInstance = FastifyInstance> {
  /** Builds the application with `testApp`. Each case builds its own and closes it. */
  readonly app: () => Promise<TestApp<Orm, App>>;
  /**
   * Registers a case with a test runner: `test` of node:test, or `it` of Vitest. Default: none, so the cases are only
   * returned.
   */
  readonly test?: (name: string, run: () => Promise<void>) => unknown;
  /**
   * Returns the user for `as`, who may do everything that the view offers. Default: null, so requests are anonymous.
   */
  readonly user?: (app: TestApp<Orm, App>) => Awaitable<object | null>;
  /**
   * Returns the tenant of the user, if the ORM has a `tenant()`. The records of `factory` and of references then belong to
   * it. Default: none.
   */
  readonly tenant?: (app: TestApp<Orm, App>, user: object | null) => Awaitable<TenantKey>;
  /**
   * Returns another user, who may use records of the first user only through the operations in `strangerMay`. Default:
   * not tested.
   */
  readonly stranger?: (app: TestApp<Orm, App>) => Awaitable<object>;
  /** The operations and actions that this other user may use. Default: none. */
  readonly strangerMay?: readonly string[];
  /** Returns values for bodies that `bodyFor` cannot generate. Default: none. */
  readonly body?: (app: TestApp<Orm, App>, user: object | null) => Awaitable<Body>;
  /** Returns values for records. `factory` makes the records if the view has no `create`. Default: none. */
  readonly record?: (app: TestApp<Orm, App>, user: object | null) => Awaitable<Body>;
  /** Returns the parameters of the view's path, `{ author: 1 }` for `authors/:author/books`. Default: none. */
  readonly path?: (app: TestApp<Orm, App>, user: object | null) => Awaitable<Readonly<Record<string, string | number>>>;
  /** The names of cases to leave out. Default: none. */
  readonly skip?: readonly string[];
}

/** A named case of a suite. `run` rejects if the view breaks its promise. */
export interface ViewSetCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}
