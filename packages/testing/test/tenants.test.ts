/** An application whose ORM has a `tenant()`: the kit makes records of one tenant, and looks at those of all. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import {
  getCurrentUser,
  IsAuthenticated,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  tenant,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { missingServer, TEST_DATABASES, testApp, type TestDatabase, testViewSet } from '../src/index.ts';

const CompanySchema = defineEntity({
  name: 'Company',
  properties: { id: p.integer().primary(), name: p.string() },
});
class Company extends CompanySchema.class {}
CompanySchema.setClass(Company);
const ProjectSchema = defineEntity({
  name: 'Project',
  properties: { id: p.integer().primary(), name: p.string(), company: () => p.manyToOne(Company) },
});
class Project extends ProjectSchema.class {}
ProjectSchema.setClass(Project);
const TaskSchema = defineEntity({
  name: 'Task',
  properties: {
    id: p.integer().primary(),
    text: p.string().length(30),
    secret: p.string().hidden().default('never to be seen'),
    company: () => p.manyToOne(Company),
    project: () => p.manyToOne(Project),
  },
});
class Task extends TaskSchema.class {}
TaskSchema.setClass(Task);

interface User {
  readonly id: number;
  readonly company: number;
}

function open(database: TestDatabase) {
  const companies = tenant({
    entities: { company: [Project, Task], id: [Company] },
    of: (request) => (getCurrentUser(request) as User | null)?.company,
  });
  const build = async (orm: MikroORM) => {
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    await app.register(companies.plugin);
    await app.register(new Router({ prefix: 'api' }).register('tasks', TaskViewSet).plugin);
    return app;
  };
  return testApp(build, { entities: [Company, Project, Task], orm: { extensions: [companies] } as object, database });
}

class TaskViewSet extends ModelViewSet(Task, {
  read: readShape(Task, ['id', 'text'], { project: 'project.id' }),
  write: writeShape(Task, ['text', 'project']),
  filterFields: { text: 'text', project: 'project' },
  orderingFields: { text: 'text' },
  searchFields: ['text'],
  permissionClasses: [IsAuthenticated],
}) {}

for (const database of TEST_DATABASES) {
  // These entities have integer keys that the database makes, which MongoDB does not.
  if (database === 'mongodb') continue;
  t.test(`on ${database}`, { skip: missingServer(database) }, async (t) => {
    await t.test('factories make the records of one tenant', async (t) => {
      const api = await open(database);
      t.teardown(() => api.close());
      const [ash, birch] = await api.factory(Company).createMany(2);
      const named = await api.factory(Project, { company: ash! }).create();
      t.equal(named.company.id, ash!.id, 'with the tenant in the overrides');
      api.setTenant(birch!.id);
      const task = await api.factory(Task).create();
      t.strictSame([task.company.id, task.project.company.id], [birch!.id, birch!.id]);
      t.equal(await api.forkAll().count(Project), 2);
      const userOf = (company: number) => ({ id: 1, company });
      const seen = async (company: number) =>
        (await api.inject(userOf(company), { url: '/api/tasks' })).json<{ count: number }>().count;
      t.strictSame([await seen(ash!.id), await seen(birch!.id)], [0, 1]);
      const body = await api.bodyFor(TaskViewSet, 'create');
      const made = await api.inject(userOf(birch!.id), { method: 'POST', url: '/api/tasks', payload: body });
      t.equal(made.statusCode, 201, made.body);
      const foreign = await api.inject(userOf(ash!.id), { method: 'POST', url: '/api/tasks', payload: body });
      t.equal(foreign.statusCode, 400, foreign.body);
    });

    await t.test('a view passes, and another tenant reaches none of its records', async (t) => {
      const cases = await testViewSet(TaskViewSet, {
        app: () => open(database),
        user: async (app) => ({ id: 1, company: (await app.factory(Company).create()).id }),
        tenant: (_app, user) => (user as User).company,
        stranger: async (app) => {
          const other = await app.factory(Company).create();
          return { id: 2, company: other.id };
        },
      });
      for (const { name, run } of cases) await t.resolves(run(), name);
    });
  });
}
