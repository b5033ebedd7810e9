/** Serves accounts from a process of its own, on the database of DATABASE_URL. Tells its address to the process that started it. */
import { defineEntity, p } from '@mikro-orm/core';
import fastify from 'fastify';
import { fileURLToPath } from 'node:url';
import { action, ModelViewSet, readShape, Router, serverOptions, viewset, writeShape } from '@viewset/core';
import { BatchViewSet } from '../../src/index.ts';

export const Account = defineEntity({
  name: 'Account',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique(), balance: p.integer().default(0) },
});
export const Entry = defineEntity({
  name: 'Entry',
  properties: { id: p.integer().primary(), amount: p.integer(), account: () => p.manyToOne(Account) },
});

interface MongoSessionId {
  readonly id: { toString(encoding: 'hex'): string };
}

class AccountViewSet extends ModelViewSet(Account, {
  read: readShape(Account, ['id', 'name', 'balance']),
  write: writeShape(Account, ['name', 'balance']),
}) {
  /** POST /accounts/7/add: adds to the balance, as it is when the transaction writes it. */
  add = action({ methods: ['post'], detail: true, batchable: true }, async (request) => {
    const account = await this.getObject(request);
    account.balance += (request.body as { amount: number }).amount;
    return { balance: account.balance };
  });

  /** POST /accounts/wait: never ends by itself. Tells the session of its transaction, which MongoDB alone has. */
  wait = action({ methods: ['post'], batchable: true }, ({ em }) => {
    const { id } = em.getTransactionContext<{ readonly id?: MongoSessionId }>()!;
    process.send?.(id?.id.toString('hex') ?? '');
    return new Promise<never>(() => {});
  });
}
class EntryViewSet extends ModelViewSet(Entry, {
  read: readShape(Entry, ['id', 'amount'], { account: 'account.id' }),
  write: writeShape(Entry, ['amount', 'account']),
}) {}

/** The router of accounts, entries and batches. */
export function bankRouter() {
  class Batch extends BatchViewSet() {}
  return new Router({ prefix: 'api' })
    .register('accounts', AccountViewSet)
    .register('entries', EntryViewSet)
    .register('batch', Batch);
}

/** Opens the database of a URL. */
export async function openBank(url: string, connections = 8) {
  const entities = [Account, Entry];
  if (url.startsWith('postgres')) {
    const { MikroORM } = await import('@mikro-orm/postgresql');
    return MikroORM.init({ clientUrl: url, entities, pool: { max: connections } });
  }
  if (url.startsWith('mongodb')) {
    const [{ MikroORM }, { MongoExtension }] = await Promise.all([
      import('@mikro-orm/mongodb'),
      import('@viewset/mongodb'),
    ]);
    return MikroORM.init({ clientUrl: url, entities, extensions: [MongoExtension] });
  }
  const { MikroORM } = await import('@mikro-orm/sqlite');
  return MikroORM.init({ dbName: url, entities });
}

// A test imports this file, and starts it as a program.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const app = fastify(serverOptions());
  await app.register(viewset, { orm: await openBank(process.env['DATABASE_URL']!) });
  await app.register(bankRouter().plugin);
  process.send?.(await app.listen({ port: 0 }));
}
