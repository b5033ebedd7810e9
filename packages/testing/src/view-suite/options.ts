import type { MikroORM } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import type { Body } from '../bodies.ts';
import type { TestApp } from '../test-app.ts';

type Awaitable<Value> = Value | Promise<Value>;

/** The options of `testViewSet`. */
export interface TestViewSetOptions<Orm extends MikroORM = MikroORM, App extends FastifyInstance = FastifyInstance> {
  /** Builds the application by `testApp`. Each case has its own, and closes it. */
  readonly app: () => Promise<TestApp<Orm, App>>;
  /** Registers a case at a test runner, such as `test` of node:test or `it` of vitest. Default: none, the cases are only returned. */
  readonly test?: (name: string, run: () => Promise<void>) => unknown;
  /** Returns the user who may do everything that the view offers, as `as` takes it. Default: null, requests are nobody's. */
  readonly user?: (app: TestApp<Orm, App>) => Awaitable<object | null>;
  /** Returns another user, who may use the records of the first one only by the operations of `strangerMay`. Default: not tested. */
  readonly stranger?: (app: TestApp<Orm, App>) => Awaitable<object>;
  /** The operations and actions that let the stranger through. Default: none. */
  readonly strangerMay?: readonly string[];
  /** Returns the values of bodies that `bodyFor` cannot find by itself. Default: none. */
  readonly body?: (app: TestApp<Orm, App>, user: object | null) => Awaitable<Body>;
  /** Returns values of records, which `factory` makes if the view has no `create`. Default: none. */
  readonly record?: (app: TestApp<Orm, App>, user: object | null) => Awaitable<Body>;
  /** Returns the parameters of the view's path, `{ author: 1 }` of `authors/:author/books`. Default: none. */
  readonly path?: (app: TestApp<Orm, App>, user: object | null) => Awaitable<Readonly<Record<string, string | number>>>;
  /** The names of cases that are left out. Default: none. */
  readonly skip?: readonly string[];
}

/** A named case of a suite; `run` rejects if the view does not keep the promise. */
export interface ViewSetCase {
  readonly name: string;
  readonly run: () => Promise<void>;
}
