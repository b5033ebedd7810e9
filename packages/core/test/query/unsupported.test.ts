import { defineEntity, p } from '@mikro-orm/core';
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { MikroORM } from '@mikro-orm/sqlite';
import t from 'tap';
import { MongoExtension } from '../../../mongodb/src/index.ts';
import { backendOf } from '../../src/query/backend-of.ts';
import { QuerySet } from '../../src/query/queryset.ts';
import { ModelViewSet, readShape, refs, Router, writeShape } from '../../src/index.ts';
import { testApp } from '../support/library.ts';
import { resolveLookup } from '../../src/query/language/resolve-lookup.ts';
import { entities, Product } from './catalog.ts';

const Seat = defineEntity({ name: 'Seat', properties: { row: p.integer().primary(), place: p.integer().primary() } });
const Report = defineEntity({ name: 'Report', expression: 'select 1 as one', properties: { one: p.integer() } });
const Base = defineEntity({ name: 'Base', inheritance: 'tpt', properties: { id: p.integer().primary() } });
const Special = defineEntity({ name: 'Special', extends: Base, properties: { extra: p.string() } });

t.test('an entity that cannot be read is named, with the reason', async (t) => {
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Seat, Report, Base, Special] });
  t.teardown(() => orm.close());
  const records = (entity: unknown) => (): unknown => QuerySet.of(orm.em.fork(), entity as typeof Seat);
  t.throws(records(Seat), {
    name: 'ImproperlyConfigured',
    message: /Seat is not supported: its primary key is not one column/,
  });
  t.throws(records(Report), { message: /Report is not supported: it is a virtual entity/ });
  t.throws(records(Special), { message: /table-per-type/ });
});

const Task = defineEntity({
  name: 'Task',
  properties: { id: p.integer().primary(), of: () => p.manyToOne(Special), also: () => p.manyToMany(Special) },
});

t.test('an entity related to it cannot be read, and a body cannot refer to its records', async (t) => {
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Base, Special, Task] });
  t.teardown(() => orm.close());
  const starts = async (options: object): Promise<void> => {
    class TaskViewSet extends ModelViewSet(Task, { read: readShape(Task, ['id', 'of']), ...options }) {}
    await testApp(t, orm, [new Router().register('tasks', TaskViewSet)]);
  };
  const path = {
    name: 'ImproperlyConfigured',
    message: /"of(\.|__)extra" cannot be resolved: Special is spread over several/,
  };
  await t.rejects(starts({ read: readShape(Task, [], { extra: 'of.extra' as never }) }), path);
  await t.rejects(starts({ filterFields: { extra: 'of__extra' } }), path);
  await t.rejects(starts({ write: writeShape(Task, ['of']) }), {
    name: 'ImproperlyConfigured',
    message: /TaskViewSet: "of" refers to Special.*table-per-type/,
  });
  await t.rejects(starts({ write: writeShape(Task, ['of'], { also: refs('also') }) }), { message: /table-per-type/ });
  await t.resolves(starts({ operations: ['list', 'retrieve'] }));
});

const shown = { shown: { name: 'shown', cond: { shown: true }, default: true } };
const properties = { id: p.integer().primary(), shown: p.boolean() };
const Post = defineEntity({ name: 'Post', properties });
const HiddenPost = defineEntity({ name: 'HiddenPost', properties, filters: shown });
const Like = defineEntity({
  name: 'Like',
  properties: { id: p.integer().primary(), target: () => p.manyToOne([Post, HiddenPost]) },
});
const OpenLike = defineEntity({
  name: 'OpenLike',
  properties: { id: p.integer().primary(), target: () => p.manyToOne([Post, Base]) },
});

t.test('an entity whose filter uses a polymorphic relation cannot be read', async (t) => {
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Post, HiddenPost, Like, OpenLike, Base] });
  t.teardown(() => orm.close());
  await orm.schema.create();
  t.throws(() => QuerySet.of(orm.em.fork(), Like), {
    name: 'ImproperlyConfigured',
    message: /Like is not supported: its polymorphic relation "target" may lead to HiddenPost, of which a filter/,
  });
  const em = orm.em.fork();
  t.equal(await QuerySet.of(em, OpenLike).count(), 0);
  em.addFilter({ name: 'late', cond: { shown: true }, entity: Post });
  await t.rejects(QuerySet.of(em, OpenLike).count(), {
    name: 'ImproperlyConfigured',
    message: /OpenLike is not supported: its polymorphic relation "target" may lead to Post, of which a filter/,
  });
  t.equal(await QuerySet.of(em, OpenLike).withFilters(false).count(), 0);
});

t.test('an entity that MikroORM does not know is refused at once', async (t) => {
  const orm = new MikroORM({ dbName: ':memory:', entities: [Seat] });
  t.throws(() => QuerySet.of(orm.em, Product), {
    name: 'ImproperlyConfigured',
    message: /Product is not among the entities/,
  });
});

t.test('SQLite with a case-sensitive LIKE is rejected', async (t) => {
  const Thing = defineEntity({ name: 'Thing', properties: { id: p.integer().primary() } });
  const orm = await MikroORM.init({ dbName: ':memory:', entities: [Thing] });
  t.teardown(() => orm.close());
  await orm.em.getConnection().execute('pragma case_sensitive_like = on');
  await t.rejects(QuerySet.of(orm.em.fork(), Thing).count(), {
    name: 'ImproperlyConfigured',
    message: /leave case_sensitive_like off/,
  });
});

t.test('a database that is not supported is named, with those that are', async (t) => {
  for (const clients of [['oracledb'], ['kysely', 'mysql2'], ['kysely', '@electric-sql/pglite']]) {
    const em = { getPlatform: () => ({}), getDriver: () => ({ getDependencies: () => clients }) };
    t.throws(() => backendOf(em as never), {
      name: 'ImproperlyConfigured',
      message: new RegExp(
        `SQLite .* libSQL .* PostgreSQL .* MongoDB .* got an ORM whose driver runs on ${clients.at(-1)}$`,
      ),
    });
  }
});

t.test('MongoDB without the extension that keeps references and keys is refused', async (t) => {
  const Thing = defineEntity({ name: 'Thing', properties: { _id: p.string().primary() } });
  const options = { dbName: 'none', clientUrl: 'mongodb://127.0.0.1:1', entities: [Thing] };
  t.throws(() => QuerySet.of(new MongoORM(options).em.fork(), Thing), {
    name: 'ImproperlyConfigured',
    message: /extensions: \[MongoExtension\]/,
  });
  const extended = new MongoORM({ ...options, extensions: [MongoExtension] });
  t.doesNotThrow(() => QuerySet.of(extended.em.fork(), Thing));
});

t.test('a lookup that is not there, or does not fit, is named with those that do', async (t) => {
  const orm = new MikroORM({ dbName: ':memory:', entities });
  const meta = orm.getMetadata().get(Product);
  const wrong = (name: string) => (): unknown => resolveLookup(meta, name);
  t.throws(wrong('stock__icontains'), {
    name: 'ImproperlyConfigured',
    message:
      /"stock__icontains" does not fit: "stock" is of type integer, which has no "icontains"; it has: exact, ne, gt,/,
  });
  t.throws(wrong('price__gtee'), {
    message: /"price__gtee" ends in no lookup: .*which has no "gtee" \(did you mean "gte"\?\); it has:/,
  });
  t.throws(wrong('nmae__icontains'), { message: /Product has no property "nmae"; did you mean "name"\?/ });
  t.throws(wrong('maker__nmae__in'), { message: /Maker has no property "nmae"; did you mean "name"\?/ });
  t.throws(wrong('maker__nmae'), { message: /Maker has no property "nmae"; did you mean "name"\?/ });
  t.throws(wrong('data__exact'), { message: /of type json, which has no "exact"; it has: isnull/ });
  t.throws(wrong('active__gt'), { message: /of type boolean/ });
  t.throws(wrong('icontains'), { message: /Product has no property "icontains"/ });
  t.throws(wrong('__gte'), { name: 'ImproperlyConfigured' });
  t.match(resolveLookup(meta, 'maker__country__in'), { lookup: 'in', path: { key: 'maker.country' } });
  t.match(resolveLookup(meta, 'tags__rank'), { lookup: 'exact', path: { key: 'tags.rank' } });
  t.equal(resolveLookup(meta, 'price__gte'), resolveLookup(meta, 'price__gte'), 'is resolved once');
});

t.test('a view entity on MongoDB is refused', async (t) => {
  const properties = { _id: p.string().primary() };
  const View = defineEntity({ name: 'View', view: true, expression: 'select 1', properties });
  const options = {
    dbName: 'none',
    clientUrl: 'mongodb://127.0.0.1:1',
    entities: [View],
    extensions: [MongoExtension],
  };
  t.throws(() => QuerySet.of(new MongoORM(options).em.fork(), View), {
    name: 'ImproperlyConfigured',
    message: /View is not supported: MongoDB has no view entities/,
  });
});
