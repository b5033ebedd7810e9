/** Tenants that share a database: what requests, actions and jobs of one see and write of another, over HTTP. */
import { defineEntity, type MikroORM, p, wrap } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t, { type Test } from 'tap';
import { Type } from 'typebox';
import {
  action,
  ALL_TENANTS,
  getCurrentUser,
  ModelViewSet,
  nested,
  many,
  readShape,
  Router,
  tenant,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp as open } from '../support/library.ts';

const Company = defineEntity({
  name: 'Company',
  properties: { id: p.integer().primary().autoincrement(false), name: p.string() },
});
const ProjectSchema = defineEntity({
  name: 'Project',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    company: () => p.manyToOne(Company),
    tasks: () => p.oneToMany(Task).mappedBy('project'),
    labels: () => p.manyToMany(Label),
  },
  uniques: [{ properties: ['company', 'name'] }],
});
class Project extends ProjectSchema.class {}
ProjectSchema.setClass(Project);
const TaskSchema = defineEntity({
  name: 'Task',
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    company: () => p.manyToOne(Company),
    project: () => p.manyToOne(Project).nullable(),
  },
});
class Task extends TaskSchema.class {}
TaskSchema.setClass(Task);
const Label = defineEntity({
  name: 'Label',
  properties: { id: p.integer().primary(), name: p.string(), company: () => p.manyToOne(Company) },
});
const entities = [Company, Project, Task, Label];

/** The tenant of a user, by name; the administrator has all, and a visitor none. */
const COMPANIES: Readonly<Record<string, number | typeof ALL_TENANTS>> = { one: 1, two: 2, admin: ALL_TENANTS };
const companyOf = (request: FastifyRequest) => COMPANIES[getCurrentUser(request)?.role?.name ?? ''];
const tenants = tenant({ entities: { company: [Project, Task, Label], id: [Company] }, of: companyOf });

class ProjectViewSet extends ModelViewSet(Project, {
  read: readShape(Project, ['id', 'name'], { tasks: many(readShape(Task, ['id', 'text'])) }),
  write: writeShape(Project, ['name'], { tasks: nested(writeShape(Task, ['text'])) }),
}) {
  count = action({}, async ({ em }) => ({ count: await em.count(Project) }));
  link = action(
    { methods: ['post'], body: Type.Object({ task: Type.Integer(), project: Type.Integer() }) },
    async (request) => {
      const task = await request.em.findOneOrFail(Task, request.body.task);
      task.project = request.em.getReference(Project, request.body.project);
      return {};
    },
  );
  rename = action({ methods: ['post'], body: Type.Object({ id: Type.Integer() }) }, async ({ em, body }) => {
    em.getReference(Project, body.id).name = 'renamed';
    return {};
  });
  remove = action({ methods: ['post'], body: Type.Object({ id: Type.Integer() }) }, async ({ em, body }) => {
    em.remove(em.getReference(Project, body.id));
    return {};
  });
  label = action(
    { methods: ['post'], body: Type.Object({ id: Type.Integer(), label: Type.Integer() }) },
    async ({ em, body }) => {
      const project = await em.findOneOrFail(Project, body.id, { populate: ['labels'] });
      project.labels.add(em.getReference(Label, body.label));
      return {};
    },
  );
}
class TaskViewSet extends ModelViewSet(Task, {
  read: readShape(Task, ['id', 'text'], { project: 'project.name' }),
  write: writeShape(Task, ['text', 'project']),
}) {}
class AnyTaskViewSet extends ModelViewSet(Task, {
  read: readShape(Task, ['id', 'text', 'company']),
  write: writeShape(Task, ['text', 'company']),
}) {}

/** Its author wants to see the deleted ones. */
class UnfilteredViewSet extends ModelViewSet(Project, {
  read: readShape(Project, ['id', 'name'], { tasks: many('tasks.text') }),
}) {
  override getQueryset(request: FastifyRequest) {
    const all = super.getQueryset(request);
    return request.headers['x-by'] === 'name' ? all.withFilters({ tenant: false }) : all.withFilters(false);
  }
}

const router = (): Router =>
  new Router()
    .register('unfiltered', UnfilteredViewSet)
    .register('projects', ProjectViewSet)
    .register('tasks', TaskViewSet)
    .register('any-tasks', AnyTaskViewSet);

/** Two companies, each with a project, a task and a label. */
async function fill(orm: MikroORM): Promise<void> {
  const em = tenants.fork(orm.em, ALL_TENANTS);
  for (const [id, name] of [
    [1, 'one'],
    [2, 'two'],
  ] as const) {
    const company = em.create(Company, { id, name });
    const project = em.create(Project, { name: `of ${name}`, company });
    em.create(Task, { text: `of ${name}`, company, project });
    em.create(Label, { name: `of ${name}`, company });
    await em.flush();
  }
}

async function start(t: Test, orm: MikroORM) {
  await fill(orm);
  const app = await open(t, orm, [router()], { before: (app) => void app.register(tenants.plugin) });
  const send = async (user: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const headers = user === '' ? {} : { 'x-user': user };
    const { statusCode: status, body } = await app.inject({ method, url, headers, ...(payload && { payload }) });
    return { status, body: body === '' ? undefined : JSON.parse(body) };
  };
  return { app, send };
}

forEachDatabase(t, { entities, orm: { extensions: [tenants] } }, async (t, orm) => {
  const { app, send } = await start(t, orm);

  t.test('requests see the records of their tenant', async (t) => {
    t.match((await send('one', 'GET', '/projects')).body, {
      count: 1,
      results: [{ name: 'of one', tasks: [{ text: 'of one' }] }],
    });
    t.equal((await send('one', 'GET', '/projects/2')).status, 404);
    t.equal((await send('two', 'GET', '/projects/2')).status, 200);
    t.strictSame((await send('two', 'GET', '/projects/count')).body, { count: 1 });
    t.match((await send('admin', 'GET', '/projects')).body, { count: 2 });
  });

  t.test('a query set that turns filters off stays within the tenant', async (t) => {
    for (const by of ['name', 'all']) {
      const answer = await app.inject({ url: '/unfiltered', headers: { 'x-user': 'two', 'x-by': by } });
      t.match(answer.json(), { count: 1, results: [{ name: 'of two', tasks: ['of two'] }] }, by);
    }
  });

  t.test('requests without a tenant see and write nothing', async (t) => {
    for (const user of ['', 'visitor']) {
      t.match((await send(user, 'GET', '/projects')).body, { count: 0, results: [] });
      t.equal((await send(user, 'GET', '/projects/1')).status, 404);
      t.strictSame((await send(user, 'GET', '/projects/count')).body, { count: 0 });
      const { status } = await send(user, 'POST', '/projects', { name: 'planted' });
      t.equal(status, user === '' ? 401 : 403);
    }
  });

  t.test('a new record, and those nested in it, belong to the tenant', async (t) => {
    const made = await send('two', 'POST', '/projects', { name: 'new', tasks: [{ text: 'child' }] });
    t.match(made, { status: 201, body: { name: 'new', tasks: [{ text: 'child' }] } });
    t.equal((await send('one', 'GET', `/projects/${made.body.id}`)).status, 404);
    t.equal((await send('two', 'DELETE', `/tasks/${made.body.tasks[0].id}`)).status, 204);
    t.equal((await send('two', 'DELETE', `/projects/${made.body.id}`)).status, 204);
  });

  t.test('a body refers to records of the tenant only', async (t) => {
    t.match(await send('one', 'POST', '/tasks', { text: 'planted', project: 2 }), { status: 400 });
    t.match(await send('one', 'PATCH', '/tasks/1', { project: 2 }), { status: 400 });
    t.match(await send('one', 'PATCH', '/tasks/2', { text: 'theirs' }), { status: 404 });
    t.match(await send('one', 'DELETE', '/tasks/2'), { status: 404 });
  });

  t.test("a body that may name the tenant can name only the user's tenant", async (t) => {
    t.match(await send('one', 'POST', '/any-tasks', { text: 'planted', company: 2 }), { status: 400 });
    t.match(await send('one', 'PATCH', '/any-tasks/1', { company: 2 }), { status: 400 });
    const made = await send('one', 'POST', '/any-tasks', { text: 'own', company: 1 });
    t.equal(made.status, 201);
    t.equal((await send('one', 'DELETE', `/any-tasks/${made.body.id}`)).status, 204);
  });

  t.test('an administrator writes for any tenant, and names it', async (t) => {
    const made = await send('admin', 'POST', '/any-tasks', { text: 'by the admin', company: 2 });
    t.equal(made.status, 201);
    t.equal((await send('two', 'GET', `/tasks/${made.body.id}`)).status, 200);
    t.equal((await send('admin', 'DELETE', `/tasks/${made.body.id}`)).status, 204);
    t.equal((await send('admin', 'POST', '/tasks', { text: 'of nobody', project: null })).status, 500);
    t.equal((await send('admin', 'PATCH', '/tasks/1', { project: 2 })).status, 403, 'nor mixes two');
  });

  t.test('actions cannot write records of another tenant by their keys', async (t) => {
    t.equal((await send('one', 'POST', '/projects/link', { task: 1, project: 2 })).status, 403);
    t.equal(
      (await send('one', 'POST', '/projects/link', { task: 1, project: 99 })).status,
      403,
      'as if it did not exist',
    );
    t.equal((await send('one', 'POST', '/projects/link', { task: 1, project: 1 })).status, 200);
    t.equal((await send('one', 'POST', '/projects/rename', { id: 2 })).status, 403);
    t.equal((await send('one', 'POST', '/projects/remove', { id: 2 })).status, 403);
    t.equal((await send('one', 'POST', '/projects/label', { id: 1, label: 2 })).status, 403);
    t.equal((await send('one', 'POST', '/projects/label', { id: 1, label: 1 })).status, 200);
    t.match((await send('two', 'GET', '/projects/2')).body, { name: 'of two' });
  });

  t.test('entities that MikroORM loads later stay within the tenant', async (t) => {
    const em = tenants.fork(orm.em, 1);
    const foreign = em.getReference(Project, 2);
    t.equal(await wrap(foreign).init(), null);
    t.equal(await em.refresh(em.getReference(Project, 2)), null);
    t.equal(await em.findOne(Project, 2), null);
    t.equal(await em.findOne(Task, { project: { name: 'of two' } }), null);
    t.strictSame(await em.find(Task, { $or: [{ id: 2 }, { project: 2 }] }), []);
    t.strictSame(
      await tenants
        .fork(orm.em, 2)
        .find(Project, {}, { cache: 10_000 })
        .then((all) => all.length),
      1,
    );
    t.equal((await tenants.fork(orm.em, 1).find(Project, {}, { cache: 10_000 }))[0]?.name, 'of one');
  });

  t.test('an entity of one tenant cannot be written by the entity manager of another', async (t) => {
    const [one, two] = [tenants.fork(orm.em, 1), tenants.fork(orm.em, 2)];
    const foreign = await two.findOneOrFail(Project, 2, { populate: ['tasks'] });
    const own = await one.findOneOrFail(Task, 1);
    own.project = foreign;
    await t.rejects(one.flush(), /belongs to another tenant/);
    const other = tenants.fork(orm.em, 1);
    other.remove(await tenants.fork(orm.em, 2).findOneOrFail(Project, 2));
    await t.rejects(other.flush(), /belongs to another tenant/);
    const children = tenants.fork(orm.em, 1);
    const project = await children.findOneOrFail(Project, 1, { populate: ['tasks'] });
    project.tasks.add(children.getReference(Task, 2));
    await t.rejects(children.flush(), /belongs to another tenant/);
    const em = tenants.fork(orm.em, ALL_TENANTS);
    t.match(await em.find(Task, {}, { orderBy: { id: 1 } }), [
      { project: { id: 1 }, company: { id: 1 } },
      { project: { id: 2 }, company: { id: 2 } },
    ]);
  });

  t.test('jobs fork an entity manager for one tenant', async (t) => {
    const em = tenants.fork(orm.em, 1);
    t.equal(await em.count(Project), 1);
    t.equal(tenants.tenantOf(em.fork()), 1);
    await t.rejects(orm.em.fork().find(Project, {}), {
      name: 'ImproperlyConfigured',
      message: /the filter "tenant" of Project/,
    });
    await t.rejects(orm.em.fork().nativeDelete(Project, {}), /the filter "tenant" of Project .* request\.em/);
    const plain = orm.em.fork();
    plain.create(Project, { name: 'planted', company: 1 });
    await t.rejects(plain.flush(), /the filter "tenant" of Project/);
    t.throws(() => tenants.fork(orm.em, undefined as never), /a tenant must be .* but got undefined/);
    t.equal(await em.nativeDelete(Project, { id: 2 }), 0);
    t.equal(await em.nativeUpdate(Project, { id: 2 }, { name: 'renamed' }), 0);
  });
});
