import { defineEntity, p, type EntityManager, type InferEntity, type MikroORM } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  action,
  InvalidUsage,
  matching,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(20),
    members: () => p.oneToMany(Member).mappedBy('team'),
  },
});
const Member = defineEntity({
  name: 'Member',
  properties: { id: p.integer().primary(), name: p.string().length(20), team: () => p.manyToOne(Team) },
});
const Account = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    code: p.string().length(20).unique(),
    owner: p.string().length(20).default('Ada'),
    balance: p.integer().default(100),
    team: () => p.manyToOne(Team).nullable(),
  },
});

type AccountRecord = InferEntity<typeof Account>;
type Data = WriteData<AccountRecord, { code: string; balance?: number }>;

const read = readShape(Account, ['id', 'code', 'balance']);
const write = writeShape(Account, ['code', 'balance']);

class AccountViewSet extends ModelViewSet(Account, { read, write }) {
  /** POST /accounts/1/withdraw */
  withdraw = action({ methods: ['post'], detail: true }, async (request) => {
    const account = await this.getObject(request);
    await sleep(5);
    if (account.balance < 5) throw new InvalidUsage('There is not enough in it');
    account.balance -= 5;
    await request.em.flush();
    return { balance: account.balance };
  });
}

class HookedViewSet extends AccountViewSet {
  override performUpdate(request: FastifyRequest, account: AccountRecord, data: Partial<Data>) {
    return super.performUpdate(request, account, data);
  }
  override performDestroy(request: FastifyRequest, account: AccountRecord) {
    return super.performDestroy(request, account);
  }
}

class OwnerOnly extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<AccountRecord>(view, { owner: 'Ada' });
  }
}
class OfNorth extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<AccountRecord>(view, { team__name: 'North' });
  }
}
class OfMembers extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<AccountRecord>(view, { team__members__name: 'Ada' });
  }
}
class OfMatchingMembers extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return matching(view.meta!, { team: { members: { name: 'Ada' } } });
  }
}

const numerically = (one: number, other: number): number => one - other;

const entities = [Team, Member, Account];

async function fill(orm: MikroORM): Promise<void> {
  await orm.schema.clear();
  const em = orm.em.fork();
  const team = em.create(Team, { id: 1, name: 'North' });
  em.create(Member, { id: 1, name: 'Ada', team });
  em.create(Account, { id: 101, code: 'one', team });
  em.create(Account, { id: 102, code: 'two', team });
  await em.flush();
}

forEachDatabase(t, { entities }, async (t, orm) => {
  const balanceOf = async (id: number) => (await orm.em.fork().findOne(Account, { id }))?.balance;

  for (const View of [AccountViewSet, HookedViewSet]) {
    t.test(`twenty withdrawals at once all count, on ${View.name}`, async (t) => {
      for (const permissionClasses of [[], [OwnerOnly], [OfMembers]]) {
        await fill(orm);
        class Scoped extends View {
          override permissionClasses = permissionClasses;
        }
        const app = await testApp(t, orm, [new Router().register('accounts', Scoped)]);
        const answers = await Promise.all(
          Array.from({ length: 22 }, () => app.inject({ method: 'POST', url: '/accounts/101/withdraw' })),
        );
        t.same(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200, 400]));
        t.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 20);
        t.equal(await balanceOf(101), 0);
      }
    });

    t.test(`writes of one record at once, on ${View.name}`, async (t) => {
      await fill(orm);
      const app = await testApp(t, orm, [new Router().register('accounts', View)]);
      const changes = [{ balance: 1 }, { code: 'changed' }];
      const both = await Promise.all(
        changes.map((payload) => app.inject({ method: 'PATCH', url: '/accounts/101', payload })),
      );
      t.same(
        both.map(({ statusCode }) => statusCode),
        [200, 200],
      );
      t.match(await orm.em.fork().findOne(Account, { id: 101 }), { balance: 1, code: 'changed' });
      const [patched, deleted] = await Promise.all([
        app.inject({ method: 'PATCH', url: '/accounts/102', payload: { balance: 1 } }),
        app.inject({ method: 'DELETE', url: '/accounts/102' }),
      ]);
      t.ok([200, 404].includes(patched.statusCode), patched.body);
      t.equal(deleted.statusCode, 204);
      t.equal(await balanceOf(102), undefined);
      const deletes = await Promise.all(
        Array.from({ length: 4 }, () => app.inject({ method: 'DELETE', url: '/accounts/101' })),
      );
      t.same(deletes.map(({ statusCode }) => statusCode).toSorted(numerically), [204, 404, 404, 404]);
    });

    t.test(`several concurrent writes of one unique value, on ${View.name}`, async (t) => {
      await fill(orm);
      const app = await testApp(t, orm, [new Router().register('accounts', View)]);
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => app.inject({ method: 'POST', url: '/accounts', payload: { code: 'mine' } })),
      );
      t.same(answers.map(({ statusCode }) => statusCode).toSorted(numerically), [201, 409, 409, 409, 409]);
      for (const answer of answers.filter(({ statusCode }) => statusCode === 409)) {
        t.same(answer.json().details, [{ in: 'body', path: '/code', message: 'is taken' }]);
      }
      const renamed = await Promise.all(
        [101, 102].map((id) => app.inject({ method: 'PATCH', url: `/accounts/${id}`, payload: { code: 'the same' } })),
      );
      t.same(renamed.map(({ statusCode }) => statusCode).toSorted(numerically), [200, 409]);
    });
  }
});

/** Two connections, of which one waits for the other. */
forEachDatabase(t, { entities, only: ['postgresql'] }, async (t, orm) => {
  const waits = async () => {
    const sql =
      "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    for (;;) {
      const [row] = (await orm.em.fork().getConnection().execute(sql)) as [{ n: number }];
      if (row.n > 0) return;
      await sleep(5);
    }
  };
  /** Runs a request that has to wait for another transaction, which changes who may write the record meanwhile. */
  const meanwhile = async <Answer>(ask: () => Promise<Answer>, change: (em: EntityManager) => Promise<unknown>) => {
    const em = orm.em.fork();
    await em.begin();
    await em.nativeUpdate(Account, { id: 101 }, { balance: 50 });
    await change(em);
    const answer = ask();
    await waits();
    await em.commit();
    return answer;
  };
  /** Asks each way of writing a record which, while the write waits, leaves what its writer may see. */
  const writesNothing = async (t: Test, app: FastifyInstance, leave: (em: EntityManager) => Promise<unknown>) => {
    for (const [method, url, payload] of [
      ['PATCH', '/accounts/101', { code: 'written' }],
      ['DELETE', '/accounts/101', undefined],
      ['POST', '/accounts/101/withdraw', undefined],
    ] as const) {
      await fill(orm);
      const answer = await meanwhile(() => app.inject({ method, url, ...(payload && { payload }) }), leave);
      t.equal(answer.statusCode, 404, `${method} ${answer.body}`);
      t.match(await orm.em.fork().findOne(Account, { id: 101 }), { code: 'one', balance: 50 });
    }
  };

  const leaving: [new () => Permission, string, (em: EntityManager) => Promise<unknown>][] = [
    [OwnerOnly, 'its own column', (em) => em.nativeUpdate(Account, { id: 101 }, { owner: 'Bob' })],
    [OfNorth, 'its relation', (em) => em.nativeUpdate(Account, { id: 101 }, { team: null })],
    [OfNorth, 'a related record', (em) => em.nativeUpdate(Team, { id: 1 }, { name: 'South' })],
    [OfMembers, 'a relation to many', (em) => em.nativeDelete(Member, { id: 1 })],
    [OfMatchingMembers, 'matching()', (em) => em.nativeDelete(Member, { id: 1 })],
  ];
  for (const View of [AccountViewSet, HookedViewSet]) {
    for (const [Class, by, leave] of leaving) {
      t.test(
        `a record that left the scope by ${by} while its write waited is not written, on ${View.name}`,
        async (t) => {
          class Scoped extends View {
            override permissionClasses = [Class as typeof OwnerOnly];
          }
          const app = await testApp(t, orm, [new Router().register('accounts', Scoped)]);
          await writesNothing(t, app, leave);
        },
      );
    }
  }

  t.test('a record that left the filters of the request while its write waited is not written', async (t) => {
    const app = await testApp(t, orm, [new Router().register('accounts', HookedViewSet)], {
      before: (app) => {
        app.addHook('preHandler', async (request) => {
          request.em.addFilter({ name: 'north', cond: { team: { name: 'North' } }, entity: Account });
        });
      },
    });
    await writesNothing(t, app, (em) => em.nativeUpdate(Team, { id: 1 }, { name: 'South' }));
  });

  t.test('a deadlock is repeated, and a lock that is not released in time returns 503', async (t) => {
    await fill(orm);
    class Crossing extends AccountViewSet {
      override async performUpdate(request: FastifyRequest, account: AccountRecord, data: Partial<Data>) {
        const updated = await super.performUpdate(request, account, data);
        await sleep(50);
        await request.em.nativeUpdate(Account, { id: account.id === 101 ? 102 : 101 }, { owner: 'Bob' });
        return updated;
      }
    }
    const app = await testApp(t, orm, [new Router().register('accounts', Crossing)]);
    const crossing = await Promise.all(
      [101, 102].map((id) => app.inject({ method: 'PATCH', url: `/accounts/${id}`, payload: { balance: 7 } })),
    );
    t.same(
      crossing.map(({ statusCode }) => statusCode),
      [200, 200],
    );

    await orm.em
      .getConnection()
      .execute(`alter role current_user in database "${orm.config.get('dbName')}" set lock_timeout = '100ms'`);
    await orm.reconnect();
    for (const View of [AccountViewSet, HookedViewSet]) {
      const other = await testApp(t, orm, [new Router().register('accounts', View)]);
      const em = orm.em.fork();
      await em.begin();
      await em.nativeUpdate(Account, { id: 101 }, { balance: 50 });
      const late = await other.inject({ method: 'PATCH', url: '/accounts/101', payload: { balance: 8 } });
      await em.rollback();
      t.equal(late.statusCode, 503, late.body);
    }
  });
});
