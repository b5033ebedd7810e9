/** Each use of what is not public of MikroORM, Kysely and the drivers, by itself: says which of them an upgrade broke. */
import { defineEntity, p, QueryHelper, RequestContext, Type } from '@mikro-orm/core';
import { MikroORM as PostgreSqlORM, type PostgreSqlConnection } from '@mikro-orm/postgresql';
import t from 'tap';
import { cancelStatement, type CancellableClient } from '../../src/mikro/cancel-statement.ts';
import { endable } from '../../src/mikro/endable-transaction.ts';
import {
  type PrimaryKeyName,
  dispatchOnLoad,
  isLoaded,
  managerOfEntity,
  metadataOf,
  metaOf,
  showLoaded,
} from '../../src/mikro/entities.ts';
import { activeFilter, hasNoFilter } from '../../src/mikro/filters.ts';
import { keepEndedTransaction } from '../../src/mikro/ended-transaction.ts';
import { readElements, storedElement, storeLists } from '../../src/mikro/exact-lists.ts';
import { holdTransaction, transactionMethods } from '../../src/mikro/held-transaction.ts';
import { releaseLostConnections } from '../../src/mikro/lost-connections.ts';
import { formattedDate } from '../../src/mikro/platform.ts';
import { inSession, kyselyRows, poolOrClient, queryPool, sessionOf } from '../../src/mikro/postgresql-pool.ts';
import { keysQuery } from '../../src/mikro/query-builder.ts';
import { writeQueryLog } from '../../src/mikro/query-log.ts';
import { replicasOf } from '../../src/mikro/replicas.ts';
import { betweenTransactions, sqliteDatabase } from '../../src/mikro/sqlite-database.ts';
import { keepUndeclaredKeys } from '../../src/mikro/undeclared-keys.ts';
import { isGlobal, isInFlush, unflushedEntities } from '../../src/mikro/unflushed-changes.ts';
import { forEachDatabase, SQL_DATABASES } from '../support/databases.ts';

type Pool = Awaited<ReturnType<PostgreSqlConnection['getNativeClient']>>;

/** A text that is stored in capitals. */
class Code extends Type<string, string> {
  override convertToDatabaseValue(value: string): string {
    return value.toUpperCase();
  }
  override getColumnType(): string {
    return 'text';
  }
}

const Part = defineEntity({ name: 'Part', embeddable: true, properties: { size: p.integer() } });
const Thing = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    code: p.type(Code).nullable(),
    of: () => p.manyToOne(Thing).nullable(),
    words: p.array().nullable(),
    counts: p.integer().array().nullable(),
    part: () => p.embedded(Part).object().nullable(),
  },
  filters: { old: { name: 'old', cond: () => ({ name: 'old' }), default: false } },
});

t.test('PrimaryProperty: names the primary key', async (t) => {
  const names: [PrimaryKeyName<{ id: number; name: string }>, PrimaryKeyName<{ _id: object }>] = ['id', '_id'];
  t.equal(names.length, 2);
});

// These are names of MikroORM's SQL drivers and of Kysely.
forEachDatabase(t, { entities: [Part, Thing] as never, only: SQL_DATABASES }, async (t, orm, database) => {
  const meta = orm.getMetadata().get(Thing);

  t.test(
    'EntityManager.applyFilters, QueryHelper.getActiveFilters and __strict: the filters of the configuration, the manager and the entity',
    async (t) => {
      const em = orm.em.fork();
      const looking = Object.getOwnPropertyDescriptor(QueryHelper, 'getActiveFilters');
      t.equal(hasNoFilter(em, meta), true);
      t.equal(await activeFilter(em, meta, {}), undefined);
      t.match(await activeFilter(em, meta, { old: true }), { where: { name: 'old' }, isStrict: false });
      em.addFilter({ name: 'late', cond: () => ({ name: 'x' }), strict: true, entity: Thing });
      t.equal(hasNoFilter(em, meta), false);
      t.equal(hasNoFilter(orm.em, meta), true);
      t.match(await activeFilter(em, meta, {}), { where: { name: 'x' }, isStrict: true });
      for (const own of [{ name: 'x' }, {}, { id: { $gt: 1 } }]) {
        em.addFilter({ name: 'late', cond: own, entity: Thing });
        t.equal(hasNoFilter(em, meta), false, JSON.stringify(own));
      }
      em.addFilter({ name: 'late', cond: (args: object) => args, entity: Thing } as never);
      t.equal(hasNoFilter(em, meta), false, 'one that lacks its arguments');
      t.equal(hasNoFilter(em.fork(), meta), false, 'a fork has those of its parent');
      em.addFilter({
        name: 'late',
        cond: () => t.fail('a filter is run to find out if it is on'),
        entity: Thing,
      } as never);
      t.equal(hasNoFilter(em, meta), false);
      t.strictSame(Object.getOwnPropertyDescriptor(QueryHelper, 'getActiveFilters'), looking, 'as MikroORM has it');
    },
  );

  t.test('the global entity manager resolves to the one of the context', async (t) => {
    RequestContext.create(orm.em, () => {
      orm.em.addFilter({ name: 'late', cond: { name: 'x' }, entity: Thing });
      t.equal(hasNoFilter(orm.em, meta), false);
    });
    t.equal(hasNoFilter(orm.em, meta), true);
  });

  t.test(
    'the query builder makes a statement and its separate parameters, with the values of the condition converted or not',
    async (t) => {
      const { sql, params } = keysQuery(orm.em.fork(), meta, { name: 'x' }, false);
      t.match(sql, /^select .* from .* where .*\?/);
      t.ok(params.includes('x'));
      const code = (isConverted: boolean): readonly unknown[] =>
        keysQuery(orm.em.fork(), meta, { code: 'a' }, isConverted).params;
      t.strictSame(code(false), ['A']);
      t.strictSame(code(true), ['a']);
    },
  );

  t.test(
    'Platform.marshallArray, ArrayType.toJsValue and ArrayType.toDbValue: lists keep their texts and the types of their elements',
    async (t) => {
      storeLists(orm.em.getPlatform(), (elements) => JSON.stringify(elements));
      const list = meta.properties.words.customType;
      t.equal(list?.convertToDatabaseValue(['null', ' '], orm.em.getPlatform()), '["null"," "]');
      readElements(orm.em);
      t.strictSame(meta.properties.counts.customType?.convertToJSValue(['1', null], orm.em.getPlatform()), [1, null]);
      t.equal(storedElement(meta.properties.counts, 1), 1);
    },
  );

  t.test('__em, the metadata and the loaded state of entities', async (t) => {
    const em = orm.em.fork();
    const thing = em.create(Thing, { name: 'a', of: em.create(Thing, { name: 'b' }) });
    await em.flush();
    t.equal(managerOfEntity(thing), em);
    t.equal(metadataOf(em, thing), meta);
    t.equal(isLoaded(thing), true);
    t.equal(isLoaded(em.fork().getReference(Thing, thing.id)), false);
    showLoaded(thing, ['of']);
    t.match(JSON.parse(JSON.stringify(thing)), { of: { name: 'b' } });
  });

  t.test(
    'EntityComparator.prepareEntity, EntityComparator.diffEntities, EntityManager.getContext: changes of an entity manager',
    async (t) => {
      const em = orm.em.fork();
      const thing = em.create(Thing, { name: 'read' });
      await em.flush();
      t.strictSame(unflushedEntities(em), []);
      thing.name = 'changed';
      t.strictSame(unflushedEntities(em), ['Thing']);
      t.equal(isGlobal(em, orm), false);
      t.equal(isGlobal(orm.em, orm), true);
      await RequestContext.create(orm.em, async () => t.equal(isGlobal(orm.em, orm), false));
    },
  );

  t.test(
    'EntityComparator.getResultMapper, ObjectHydrator.hydrate, EntityComparator.prepareEntity: undeclared keys of a JSON column',
    async (t) => {
      keepUndeclaredKeys(orm.em);
      const id = await orm.em.fork().insert(Thing, { name: 'kept', code: 'a' });
      const sql = orm.em.getConnection();
      await sql.execute(`update thing set part = '{"size":1,"colour":"red"}' where id = ?`, [id]);
      const em = orm.em.fork();
      (await em.findOneOrFail(Thing, id)).part!.size = 2;
      await em.flush();
      const [row] = await sql.execute<{ part: unknown }[]>('select part from thing where id = ?', [id]);
      t.strictSame(typeof row!.part === 'string' ? JSON.parse(row!.part) : row!.part, { size: 2, colour: 'red' });
    },
  );

  t.test('__processing: the entities that a flush is writing', async (t) => {
    const em = orm.em.fork();
    const thing = em.create(Thing, { name: 'written' });
    t.strictSame(unflushedEntities(em), ['Thing']);
    const flushing = em.flush();
    const seen: boolean[] = [];
    // Enough turns for the event before the flush, and too few for the end of the flush.
    for (let turn = 0; turn < 10; turn++) seen.push(await Promise.resolve(isInFlush(thing)));
    await flushing;
    t.ok(seen.includes(true));
    t.strictSame(unflushedEntities(em), []);
  });

  t.test('__meta: the metadata of a class', async (t) => {
    t.equal(metaOf(meta.class), meta);
    t.equal(metaOf(class {}), undefined);
  });

  t.test('UnitOfWork.dispatchOnLoadEvent: notifies subscribers of the entities that were made from rows', async (t) => {
    const em = orm.em.fork({ freshEventManager: true });
    const told: unknown[] = [];
    em.getEventManager().registerSubscriber({
      onLoad: async ({ entity }) => {
        told.push(entity);
      },
    });
    const thing = em.map(Thing, { id: 99, name: 'a', code: 'A', of_id: null });
    t.strictSame(told, []);
    await dispatchOnLoad(em);
    t.strictSame(told, [thing]);
  });

  t.test('EntityManager.begin, commit and rollback: are refused while a transaction is held', async (t) => {
    const em = orm.em.fork();
    const { begin, rollback } = transactionMethods(em);
    await begin();
    const letGo = holdTransaction(em, (method) => new Error(`no ${method}`));
    await t.rejects(em.begin(), { message: 'no begin' });
    await t.rejects(em.commit(), { message: 'no commit' });
    await t.rejects(em.rollback(), { message: 'no rollback' });
    await em.transactional(async (inner) => void (await inner.count(Thing)));
    t.ok(em.isInTransaction());
    await rollback();
    letGo();
    await em.begin();
    await em.rollback();
  });

  t.test(
    'ControlledTransaction.savepoint: savepoints, and every statement through the wrapped transaction',
    async (t) => {
      const em = orm.em.fork();
      await em.begin();
      const own = em.getTransactionContext<object>()!;
      const { transaction, end } = endable(own);
      em.setTransactionContext(transaction);
      const inner = em.fork();
      await inner.begin({ ctx: transaction });
      t.equal(await inner.count(Thing), await em.count(Thing));
      await inner.commit();
      await inner.begin({ ctx: transaction });
      end(() => new Error('it has ended'));
      for (const each of [em, inner]) {
        await t.rejects(each.count(Thing), { message: /it has ended/ });
        await t.rejects(each.insert(Thing, { name: 'late' }), { message: /it has ended/ });
        await t.rejects(each.rollback(), { message: /it has ended/ });
      }
      await em.getConnection().rollback(own);
    },
  );

  t.test('QueryExecutor.executeQuery: reports if a statement has failed', async (t) => {
    const em = orm.em.fork();
    await em.begin();
    const own = em.getTransactionContext<object>()!;
    const { failure } = endable(own);
    await em.count(Thing);
    t.equal(failure(), undefined);
    await t.rejects(em.getConnection().execute('select nothing', [], 'all', own));
    t.ok(failure() instanceof Error);
    await em.rollback();
  });

  t.test('Connection.logQuery: writes to the log', async (t) => {
    const logger = orm.config.getLogger();
    const told: unknown[] = [];
    t.capture(logger, 'logQuery', (context: { query: string }) => told.push(context.query));
    writeQueryLog(orm.em.getConnection(), 'select 42', { took: 1 });
    t.strictSame(told, ['select 42']);
  });

  if (database === 'sqlite') {
    t.test('SqliteConnection: its better-sqlite3, and the time between its transactions', async (t) => {
      const connection = orm.em.getConnection();
      const native = await sqliteDatabase(connection);
      t.match(native, { open: true, inTransaction: false });
      t.strictSame(native.prepare('select 1, 2').raw(true).all(), [[1, 2]]);
      const em = orm.em.fork();
      await em.begin();
      t.equal(native.inTransaction, true);
      const between = betweenTransactions(connection, async () => native.inTransaction);
      await em.commit();
      t.equal(await between, false);
      t.equal(formattedDate(orm.em.getPlatform(), new Date(0)), undefined);
    });

    t.test('ControlledTransaction.rollback: succeeds after SQLite has ended the transaction', async (t) => {
      const connection = orm.em.getConnection();
      const native = await sqliteDatabase(connection);
      const transaction = await connection.begin();
      keepEndedTransaction(transaction, native);
      native.exec('rollback');
      await t.rejects(connection.execute('select 1', [], 'all', transaction), { message: /SQLite has ended/ });
      await connection.rollback(transaction);
      t.equal(native.inTransaction, false);
      t.strictSame(await connection.execute('select 1 as one'), [{ one: 1 }], 'the connection is free');
    });
    return;
  }

  t.test('DatabaseDriver.replicas: the connections to read replicas', async (t) => {
    t.strictSame(replicasOf(orm.em), []);
    const replicated = await PostgreSqlORM.init({
      clientUrl: orm.config.get('clientUrl'),
      replicas: [{ name: 'one' }, { name: 'two' }],
      entities: [Thing],
    });
    t.teardown(() => replicated.close(true));
    const replicas = replicasOf(replicated.em);
    t.equal(replicas.length, 2);
    t.ok(replicas.includes(replicated.em.getConnection('read')));
  });

  t.test('PoolClient.release: a connection that is lost goes back to the pool once', async (t) => {
    await releaseLostConnections(orm);
    const pool = (await orm.em.getConnection().getNativeClient()) as Pool;
    pool.on('error', () => {});
    const client = await pool.connect();
    client.on('error', () => {});
    const taken = pool.totalCount;
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    await t.rejects(client.query('select pg_terminate_backend(pg_backend_pid())'));
    await ended;
    t.equal(pool.totalCount, taken - 1);
    t.doesNotThrow(() => client.release());
  });

  t.test('Client.processID and Client.secretKey: have PostgreSQL cancel a statement', async (t) => {
    const pool = (await orm.em.getConnection().getNativeClient()) as Pool;
    const client = await pool.connect();
    t.match(client, { processID: Number, secretKey: Number });
    const sleeping = t.rejects(client.query('select pg_sleep(20)'), { code: '57014' });
    const { processID } = client as unknown as CancellableClient;
    const asleep = `select 1 from pg_stat_activity where pid = ${processID} and wait_event = 'PgSleep'`;
    // A request that comes before the statement has begun cancels nothing.
    while ((await pool.query(asleep)).rowCount === 0);
    await new Promise<void>((resolve) => cancelStatement(client as unknown as CancellableClient)(resolve));
    await sleeping;
    client.release();
  });

  t.test('PostgreSqlConnection: its pool, its Kysely, and its sessions', async (t) => {
    const connection = orm.em.getConnection();
    const opened = await poolOrClient(orm.em, connection);
    if (!('pool' in opened)) throw new Error('there is no pool');
    t.equal(opened.pool.ending, false);
    const rows = await new Promise((resolve) => {
      queryPool(opened.pool, { text: 'select 1, 2', values: [], rowMode: 'array' }, undefined, (_error, result) =>
        resolve(result?.rows),
      );
    });
    t.strictSame(rows, [[1, 2]]);
    const em = orm.em.fork();
    t.equal(sessionOf(em), undefined);
    em.setSessionContext({ variables: { 'app.user': 'ann' } });
    const user = await inSession(connection, sessionOf(em) as object, (transaction) =>
      kyselyRows(transaction, "select current_setting('app.user') as name, $1::int as n", [7]),
    );
    t.strictSame(user, [['ann', 7]]);
    t.match(formattedDate(orm.em.getPlatform(), new Date(0)), /^(1970|1969)/);
  });
});
