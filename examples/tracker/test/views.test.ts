/** The declarations of the tracker's views, tested by the suite of @viewset/testing. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testApp, type TestApp, testViewSet, type ViewClass } from '@viewset/testing';
import t from 'tap';
import { Account, ENTITIES, Member, Project, Role } from '../src/entities.ts';
import { LabelViewSet } from '../src/label.ts';
import { MemberViewSet } from '../src/member.ts';
import { ProjectViewSet } from '../src/project.ts';
import { TicketViewSet } from '../src/ticket.ts';
import { buildTracker } from './tracker.ts';

const uploads = mkdtempSync(join(tmpdir(), 'tracker-'));
t.teardown(() => rmSync(uploads, { recursive: true, force: true }));

async function accountOf(tracker: TestApp, role: string): Promise<Account> {
  const roles = tracker.factory(Role);
  return tracker.factory(Account).create({ role: await roles.create({ name: role }) });
}

/** A project that an account owns, as its key in paths. */
async function projectOf(tracker: TestApp, owner: object): Promise<string> {
  const { key } = await tracker.factory(Project).create({ key: 'lighthouse' });
  const project = await tracker.orm.em.fork().findOneOrFail(Project, { key });
  await tracker.orm.em.fork().insert(Member, { project, account: owner as Account, role: 'owner' });
  return key;
}

/** Tests a view for an administrator who owns a project, and for somebody outside it. */
const suite = (View: ViewClass, options: Partial<Parameters<typeof testViewSet>[1]> = {}) =>
  testViewSet(View, {
    test: (name, run) => t.test(name, run),
    app: () => testApp((orm) => buildTracker(orm, uploads), { entities: ENTITIES, database: 'sqlite' }) as never,
    user: (tracker) => accountOf(tracker, 'admin'),
    stranger: (tracker) => accountOf(tracker, 'user'),
    ...options,
  });

const inProject = {
  path: async (tracker: TestApp, owner: object | null) => ({ project: await projectOf(tracker, owner!) }),
};

await suite(LabelViewSet, { strangerMay: ['list', 'retrieve'] });
await suite(ProjectViewSet);
await suite(MemberViewSet, inProject);
await suite(TicketViewSet, { ...inProject, body: () => ({ assignee: null, due_on: '2099-12-31' }) });
