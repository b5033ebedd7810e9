/** A MongoDB that stands alone, under load, is killed and started again: what was acknowledged is there. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import { testApp } from '../../core/test/support/library.ts';
import { withMongoServer } from '../../core/test/support/with-mongo-server.ts';

const Item = defineEntity({
  name: 'Item',
  properties: { id: p.integer().primary(), name: p.string().length(40).unique(), stock: p.integer().default(0) },
});

class Items extends ModelViewSet(Item, {
  read: readShape(Item, ['id', 'name', 'stock']),
  write: writeShape(Item, ['name', 'stock']),
}) {}

/** The longest time until everything works again once the server does. */
const RECOVERY_MS = 5000;
const CLIENTS = 6;

/** The states that an item may be in: its stock, or undefined if it is deleted. More than one after a write that nobody has confirmed. */
type States = readonly (number | undefined)[];

/** What a client has written, and what it was told. */
class Load {
  readonly items = new Map<number, States>();
  readonly answers: { readonly at: number; readonly status: number; readonly code?: string }[] = [];
  readonly #app: FastifyInstance;
  readonly #name: string;
  #turn = 0;

  constructor(app: FastifyInstance, name: string) {
    this.#app = app;
    this.#name = name;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#turn += 1;
      const [id] = [...this.items].findLast(([, states]) => states.length === 1 && states[0] !== undefined) ?? [];
      if (id === undefined || this.#turn % 3 === 0) await this.#create();
      else await this.#change(id, this.#turn % 7 === 0 ? undefined : this.#turn);
      await sleep(2);
    }
  }

  async #create(): Promise<void> {
    const name = `${this.#name} ${this.#turn}`;
    const { status, body } = await this.#send('POST', '/items', { name, stock: this.#turn });
    if (status !== 201) return;
    this.items.set(Number(body['id']), [this.#turn]);
  }

  async #change(id: number, stock: number | undefined): Promise<void> {
    const before = this.items.get(id)!;
    const url = `/items/${id}`;
    const { status } = await (stock === undefined ? this.#send('DELETE', url) : this.#send('PATCH', url, { stock }));
    this.items.set(id, status < 300 ? [stock] : [...before, stock]);
  }

  async #send(method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) {
    const answer = await this.#app.inject({ method, url, ...(payload && { payload }) });
    const body = answer.body === '' ? {} : answer.json<Record<string, unknown>>();
    this.answers.push({ at: performance.now(), status: answer.statusCode, code: String(body['code']) });
    return { status: answer.statusCode, body };
  }
}

withMongoServer(t, 'a MongoDB that stands alone is killed under load', { isStandalone: true }, async (t, mongo) => {
  const { server } = mongo;
  // What `?journal=true` in the URL says.
  const driverOptions = { journal: true, serverSelectionTimeoutMS: 1000, timeoutMS: 3000 };
  const orm = await mongo.open({ entities: [Item], orm: { disableTransactions: true, driverOptions } as object });
  const app = await testApp(t, orm, [new Router().register('items', Items)]);
  const stop = new AbortController();
  const clients = Array.from({ length: CLIENTS }, (_, index) => new Load(app, `client ${index}`));
  const running = Promise.all(clients.map((client) => client.run(stop.signal)));
  const answers = () => clients.flatMap((client) => client.answers).toSorted((one, other) => one.at - other.at);

  for (const name of ['once', 'and once more']) {
    await t.test(name, async (t) => {
      await until(() => answers().filter(({ status }) => status < 300).length > 100);
      await server.kill('SIGKILL');
      const downAt = performance.now();
      await until(() => answers().filter(({ at }) => at > downAt + 2000).length >= CLIENTS);
      const down = answers().filter(({ at }) => at > downAt);
      t.strictSame(new Set(down.map(({ status, code }) => `${status} ${code}`)), new Set(['503 service_unavailable']));
      await server.restart();
      const upAt = performance.now();
      await sleep(RECOVERY_MS);
      await until(() => answers().filter(({ at }) => at > upAt + RECOVERY_MS).length >= CLIENTS);
      const lastIll = answers().findLast(({ status }) => status >= 300)!;
      t.ok(lastIll.at < upAt + RECOVERY_MS, `the last error came ${Math.round(lastIll.at - upAt)} ms after the server`);
    });
  }

  stop.abort();
  await running;
  await t.test('no acknowledged write is lost, and no key is used twice', async (t) => {
    const stored = await orm.em.fork().find(Item, {});
    const byId = new Map(stored.map(({ id, stock }) => [id, stock]));
    const items = clients.flatMap((client) => [...client.items]);
    t.ok(items.length > 50, `${items.length} items were acknowledged`);
    t.equal(new Set(items.map(([id]) => id)).size, items.length);
    const lost = items.filter(([id, states]) => !states.includes(byId.get(id)));
    t.strictSame(lost, []);
  });
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20);
}
