import { isDeepStrictEqual } from 'node:util';
import type { MikroORM } from '@mikro-orm/core';
import type { TestDatabase } from '@viewset/testing';
import { fastify } from 'fastify';
import type { Test } from 'tap';
import { openDatabase } from '../src/database.ts';
import { Product } from '../src/entities/product.ts';
import { readSettings } from '../src/settings.ts';
import { freshDatabase } from '../test/support/database.ts';
import { type Shop, startShop } from '../test/support/shop.ts';
import type { Action, Person } from './action.ts';
import type { Product as ProductOfModel } from './product.ts';
import { ShopModel } from './shop-model.ts';

/** A longer request line exceeds the limits of Node, which the model does not have. */
const MAX_PATH_LENGTH = 6000;

type Tokens = Readonly<Record<Person, string | undefined>>;

/** Runs sequences of requests on one shop, each from a separate initial state. */
export class Teller {
  readonly shop: Shop;
  readonly #orm: MikroORM;
  readonly #tokens: Tokens;
  readonly #counts = new Map<string, number>();

  static async start(t: Test, kind: TestDatabase): Promise<Teller> {
    const databaseUrl = await freshDatabase(t, kind);
    const { orm } = await openDatabase(readSettings({ DATABASE_URL: databaseUrl }), fastify().log);
    t.teardown(() => orm.close());
    const shop = await startShop(t, { kind, databaseUrl });
    const user = await shop.newUser('user@example.com');
    const admin = await shop.login();
    const forger = `${admin.slice(0, admin.lastIndexOf('.'))}.${'A'.repeat(43)}`;
    return new Teller(shop, orm, { nobody: undefined, forger, user, admin });
  }

  private constructor(shop: Shop, orm: MikroORM, tokens: Tokens) {
    this.shop = shop;
    this.#orm = orm;
    this.#tokens = tokens;
  }

  get requests(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  summary(): string {
    const counts = [...this.#counts]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([what, times]) => `${times} ${what}`);
    return `${this.requests} requests: ${counts.join(', ')}`;
  }

  /** Throws an error with the requests up to the first response that differs from the model's. */
  async tell(products: readonly Omit<ProductOfModel, 'id'>[], actions: readonly Action[]): Promise<void> {
    const model = new ShopModel(await this.#stock(products));
    const history = [...model.products.values()].map((product) => `there is ${JSON.stringify(product)}`);
    for (const action of actions) {
      const { method, person, body } = action;
      const path = action.path(model);
      if (path.length > MAX_PATH_LENGTH) continue;
      history.push(`${person}: ${method} ${path} ${body ?? ''}`);
      const expected = action.expected(model);
      const answer = await this.shop.request(method, path, {
        token: this.#tokens[person],
        ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
      });
      this.#count(`${action.kind} ${answer.status}`);
      const problem = model.check(expected, answer);
      if (problem !== undefined) throw new Error([...history, `${answer.status} ${answer.text}`, problem].join('\n'));
    }
    const stored = (await this.#orm.em.fork().find(Product, {}, { orderBy: { id: 'asc' } })).map(plain);
    const wanted = [...model.products.values()].toSorted((a, b) => a.id - b.id);
    if (isDeepStrictEqual(stored, wanted)) return;
    throw new Error([...history, `the table has ${JSON.stringify(stored)}, not ${JSON.stringify(wanted)}`].join('\n'));
  }

  async #stock(products: readonly Omit<ProductOfModel, 'id'>[]): Promise<ProductOfModel[]> {
    const em = this.#orm.em.fork();
    await em.nativeDelete(Product, {});
    const entities = products.map((product) => em.create(Product, product));
    await em.flush();
    return entities.map(plain);
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}

function plain({ id, name, price, stock }: ProductOfModel): ProductOfModel {
  return { id, name, price, stock };
}
