/** What the start of an ORM and of an application with tenants refuses, and what a request without parameters of a filter hears. */
import { defineEntity, type EntityName, type MikroORM, p } from '@mikro-orm/core';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import {
  action,
  ALL_TENANTS,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  tenant,
  type TenantOptions,
  viewset,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Project = defineEntity({
  name: 'Project',
  properties: { id: p.integer().primary(), name: p.string().unique(), tenant: p.integer() },
});
const Task = defineEntity({
  name: 'Task',
  properties: { id: p.integer().primary(), project: () => p.manyToOne(Project) },
});
const Account = defineEntity({
  name: 'Account',
  properties: { id: p.integer().primary(), tenant: p.integer() },
});
const Animal = defineEntity({
  name: 'Animal',
  discriminatorColumn: 'kind',
  abstract: true,
  properties: { id: p.integer().primary(), kind: p.string(), tenant: p.integer() },
});
const Cat = defineEntity({
  name: 'Cat',
  extends: Animal,
  discriminatorValue: 'cat',
  properties: { name: p.string() },
});

class ProjectViewSet extends ModelViewSet(Project, {
  read: readShape(Project, ['id', 'name']),
  write: writeShape(Project, ['name']),
}) {}
class ReadProjectViewSet extends ModelViewSet(Project, { read: readShape(Project, ['id', 'name']) }) {
  count = action({}, async ({ em }) => ({ count: await em.count(Project) }));
}
const of = (): number => 1;

async function open(t: Test, entities: readonly EntityName[], tenants?: ReturnType<typeof tenant>): Promise<MikroORM> {
  const extensions = tenants === undefined ? [] : [tenants];
  const orm = await SqliteORM.init({ dbName: ':memory:', entities: [...entities] as never, extensions });
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  return orm;
}

t.test('options that do not fit', async (t) => {
  const made = (options: object) => () => tenant(options as TenantOptions);
  t.throws(made({ of }), /option "entities" must be an object of lists of entities .*got undefined/);
  t.throws(made({ entities: {}, of }), /option "entities" must be/);
  t.throws(made({ entities: { tenant: [] }, of }), /option "entities.tenant" must be a list of entities/);
  t.throws(made({ entities: { tenant: [Project] } }), /option "of" must be a function/);
  t.throws(made({ entities: { tenant: [Project] }, of, shard: [] }), /unknown option "shard"/);
});

t.test('entities that do not fit', async (t) => {
  const refused = async (entities: readonly EntityName[], options: Omit<TenantOptions, 'of'>, message: RegExp) =>
    t.rejects(open(t, entities, tenant({ ...options, of })), { name: 'ImproperlyConfigured', message });
  await refused(
    [Project],
    { entities: { tennant: [Project] } },
    /Project has no property "tennant"; did you mean "tenant"\?/,
  );
  await refused([Project], { entities: { tenant: [Project, Account] } }, /Account is not among the entities/);
  await refused(
    [Project, Task],
    { entities: { tenant: [Project] } },
    /Task refers to Project by "project", but is not listed/,
  );
  await refused(
    [Project, Account],
    { entities: { tenant: [Project] } },
    /Account has the property "tenant", but is not listed/,
  );
  await refused([Project], { entities: { tenant: [Project], id: [Project] } }, /Project is listed twice/);
  await refused([Animal, Cat], { entities: { tenant: [Cat] } }, /Cat shares a table with Animal; list Animal/);
  await open(t, [Project, Task, Account], tenant({ entities: { tenant: [Project] }, shared: [Task, Account], of }));
});

t.test('classes in one table belong to tenants together', async (t) => {
  const tenants = tenant({ entities: { tenant: [Animal] }, of });
  const orm = await open(t, [Animal, Cat], tenants);
  await t.rejects(orm.em.fork().find(Cat, {}), /the filter "tenant" of Cat/);
  const em = tenants.fork(orm.em, 2);
  em.create(Cat, { name: 'Tom' } as never);
  await em.flush();
  t.equal(await tenants.fork(orm.em, 1).count(Cat), 0);
  t.equal(await tenants.fork(orm.em, 2).count(Animal), 1);
});

t.test('without the plugin, or with that of another tenant(), the start fails', async (t) => {
  const tenants = tenant({ entities: { tenant: [Project] }, of });
  const orm = await open(t, [Project], tenants);
  await t.rejects(testApp(t, orm, [new Router().register('projects', ProjectViewSet)]), {
    name: 'ImproperlyConfigured',
    message: /the records of Project belong to tenants, but requests have none: register the plugin/,
  });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  const other = tenant({ entities: { tenant: [Project] }, of });
  await t.rejects(async () => app.register(other.plugin), /the plugin needs the same tenant\(\) in the ORM/);
});

t.test('unique values that tenants share are a warning', async (t) => {
  const tenants = tenant({ entities: { tenant: [Project] }, of });
  const orm = await open(t, [Project], tenants);
  const lines: string[] = [];
  const app = fastify({ ...serverOptions(), logger: { stream: { write: (line: string) => void lines.push(line) } } });
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(tenants.plugin);
  await app.ready();
  t.match(lines.join(''), /"columns":\["Project\.name"\].*unique values are shared by all tenants/);
});

forEachDatabase(t, { entities: [Project] }, async (t, orm) => {
  t.test('a filter without parameters is an error that names it and request.em', async (t) => {
    orm.em.addFilter({
      name: 'mine',
      cond: ({ id }: { readonly id: number }) => ({ tenant: id }),
      entity: [Project],
    } as never);
    const logged: string[] = [];
    const app = await testApp(t, orm, [new Router().register('projects', ReadProjectViewSet)], {
      before: (app) => {
        app.addHook('onError', async (_request, _reply, error) => void logged.push(error.message));
      },
    });
    const answer = await app.inject('/projects');
    t.match(answer.json(), { code: 'improperly_configured' });
    t.match(logged, [
      /the filter "mine" of Project has no parameters: for each request, call request\.em\.setFilterParams/,
    ]);
    t.match((await app.inject('/projects/count')).json(), { code: 'improperly_configured' });
  });
});

t.test('a request keeps its tenant', async (t) => {
  let found = 7;
  const tenants = tenant({ entities: { tenant: [Project] }, of: () => found });
  const orm = await open(t, [Project], tenants);
  class View extends ModelViewSet(Project, { read: readShape(Project, ['id']) }) {
    change = action({}, async ({ em }) => {
      await em.count(Project);
      found = 8;
      return { count: await em.count(Project) };
    });
  }
  const app = await testApp(t, orm, [new Router().register('projects', View)], {
    before: (app) => void app.register(tenants.plugin),
  });
  t.equal((await app.inject('/projects/change')).statusCode, 500);
  t.equal((await app.inject('/projects')).statusCode, 200);
  const within = async (key: number) => {
    const em = tenants.fork(orm.em, key);
    return em.transactional(async () => (await app.inject('/projects')).statusCode);
  };
  t.strictSame([await within(8), await within(9)], [200, 500], 'also in the transaction of another');
});

t.test('of() is checked', async (t) => {
  let found: unknown = Number.NaN;
  const tenants = tenant({ entities: { tenant: [Project] }, of: () => found as number });
  const orm = await open(t, [Project], tenants);
  const em = tenants.fork(orm.em, ALL_TENANTS);
  em.create(Project, { name: 'a', tenant: 7 });
  await em.flush();
  const app = await testApp(t, orm, [new Router().register('projects', ProjectViewSet)], {
    before: (app) => void app.register(tenants.plugin),
  });
  for (const wrong of [Number.NaN, '', Promise.resolve(1), {}, 1.5]) {
    found = wrong;
    t.equal((await app.inject('/projects')).statusCode, 500, typeof wrong);
  }
  found = '7';
  t.equal((await app.inject('/projects')).json().count, 1, 'a token may have the number as a text');
  found = null;
  t.equal((await app.inject('/projects')).json().count, 0);
});
