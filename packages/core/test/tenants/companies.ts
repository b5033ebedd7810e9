/** An application whose records belong to two companies, with every feature that reads or writes records. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import {
  action,
  ALL_TENANTS,
  AllowAny,
  count,
  exists,
  file,
  FileType,
  many,
  ModelViewSet,
  nested,
  readShape,
  refs,
  Router,
  tenant,
  writeShape,
  CursorPagination,
} from '../../src/index.ts';
import { BatchViewSet } from '../../../batch/src/index.ts';
import { history, HistoryEntry } from '../../../history/src/index.ts';
import { IdempotencyRecord } from '../../../idempotency/src/index.ts';
import { live, ListChange, ListVersion } from '../../../live/src/index.ts';
import { outbox, OutboxEvent } from '../../../outbox/src/index.ts';
import { Bucket } from '../support/bucket.ts';

const key = () =>
  p
    .string()
    .length(36)
    .primary()
    .onCreate(() => randomUUID());

export const Company = defineEntity({
  name: 'Company',
  properties: { id: p.integer().primary().autoincrement(false), name: p.string() },
});
const MemberSchema = defineEntity({
  name: 'Member',
  properties: { id: key(), name: p.string(), company: () => p.manyToOne(Company) },
});
export class Member extends MemberSchema.class {}
MemberSchema.setClass(Member);
const LabelSchema = defineEntity({
  name: 'Label',
  properties: { id: key(), name: p.string(), company: () => p.manyToOne(Company) },
});
export class Label extends LabelSchema.class {}
LabelSchema.setClass(Label);
const ProjectSchema = defineEntity({
  name: 'Project',
  properties: {
    id: key(),
    name: p.string(),
    budget: p.integer().default(0),
    gone_at: p.datetime().length(3).nullable(),
    cover: p.type(FileType).nullable(),
    company: () => p.manyToOne(Company),
    leader: () => p.manyToOne(Member).nullable(),
    tasks: () => p.oneToMany(Task).mappedBy('project').orphanRemoval(),
    labels: () => p.manyToMany(Label),
  },
});
export class Project extends ProjectSchema.class {}
ProjectSchema.setClass(Project);
const TaskSchema = defineEntity({
  name: 'Task',
  properties: {
    id: key(),
    text: p.string(),
    points: p.integer().default(0),
    company: () => p.manyToOne(Company),
    project: () => p.manyToOne(Project).nullable(),
    parent: () => p.manyToOne(Task).nullable(),
  },
});
export class Task extends TaskSchema.class {}
TaskSchema.setClass(Task);

export const TENANT_ENTITIES = [Member, Label, Project, Task] as const;
export const entities = [
  Company,
  ...TENANT_ENTITIES,
  HistoryEntry,
  IdempotencyRecord,
  ListChange,
  ListVersion,
  OutboxEvent,
];

/** The company of the header `x-company`. `all` is the administrator of all companies. */
export const companies = tenant({
  entities: { company: TENANT_ENTITIES, id: [Company] },
  of: ({ headers }) => {
    const name = headers['x-company'];
    if (name === 'all') return ALL_TENANTS;
    return name === undefined ? undefined : Number(name);
  },
});

export const bucket = new Bucket();
const member = readShape(Member, ['id', 'name']);
const task = readShape(Task, ['id', 'text', 'points'], {
  project: readShape(Project, ['id', 'name']),
  parent: 'parent.text',
});

class CompanyViewSet extends ModelViewSet(Company, {
  read: readShape(Company, ['id', 'name']),
  write: writeShape(Company, ['id', 'name']),
}) {}
class MemberViewSet extends ModelViewSet(Member, {
  read: member,
  write: writeShape(Member, ['name']),
  searchFields: ['name'],
}) {}
class LabelViewSet extends ModelViewSet(Label, {
  read: readShape(Label, ['id', 'name']),
  write: writeShape(Label, ['name']),
  bulk: 5,
}) {}
class ProjectViewSet extends ModelViewSet(Project, {
  read: {
    default: readShape(Project, ['id', 'name', 'budget', 'cover'], {
      leader: member,
      tasks: many(readShape(Task, ['id', 'text'])),
      labels: many(readShape(Label, ['id', 'name'])),
      open: count('tasks'),
      busy: exists('tasks'),
    }),
    retrieve: readShape(Project, ['id', 'name', 'budget', 'leader']),
  },
  write: writeShape(Project, ['name', 'budget', 'leader'], {
    tasks: nested(writeShape(Task, ['text', 'points']), { update: true }),
    labels: refs('labels'),
    cover: file({ store: bucket, maxBytes: 10_000, types: ['image/*'] }),
  }),
  expand: { leader: readShape(Member, ['name', 'id']) },
  searchFields: ['name', 'tasks__text', 'leader__name'],
  filterFields: {
    leader: 'leader',
    leader_name: 'leader__name__icontains',
    task: 'tasks__text__icontains',
    label: 'labels',
  },
  jsonLogicFields: ['id', 'name', 'budget', 'leader.name'],
  orderingFields: { name: 'name', budget: 'budget', leader: 'leader__name' },
  summary: { group: ['name', 'leader.name'], values: { budget: ['sum', 'max'] } },
  exports: ['csv', 'ndjson'],
  softDelete: { property: 'gone_at', visibleTo: [AllowAny] },
  history: { revert: true },
  live: true,
  emits: ['created', 'updated', 'deleted'],
  etags: true,
}) {
  totals = action({}, async ({ em }) => {
    const projects = await em.find(Project, {}, { populate: ['tasks', 'labels', 'leader'] });
    return { names: projects.map(({ name, leader }) => [name, leader?.name ?? null]) };
  });

  adopt = action(
    { methods: ['post'], batchable: true, body: Type.Object({ task: Type.String(), project: Type.String() }) },
    async ({ em, body }) => {
      const found = em.getReference(Task, body.task);
      found.project = em.getReference(Project, body.project);
      return {};
    },
  );
}
class TaskViewSet extends ModelViewSet(Task, {
  read: task,
  write: writeShape(Task, ['text', 'points', 'project', 'parent']),
  searchFields: ['text', 'project__name'],
  filterFields: { project: 'project', project_name: 'project__name', points: 'points__gte' },
  orderingFields: { text: 'text', points: 'points', project: 'project__name' },
  summary: { group: ['text', 'project.name'], values: { points: ['sum', 'avg'] } },
  exports: ['ndjson'],
  pagination: CursorPagination.with({ pageSize: 2 }),
  history: true,
  bulk: 5,
}) {}
class Batch extends BatchViewSet({ maxOperations: 5 }) {}

export async function companiesApp(app: FastifyInstance): Promise<void> {
  await app.register(companies.plugin);
  await app.register(history);
  await app.register(outbox);
  await app.register(live, { windowMs: 10, pollMs: 60_000 });
}

export const router = () =>
  new Router()
    .register('companies', CompanyViewSet)
    .register('members', MemberViewSet)
    .register('labels', LabelViewSet)
    .register('projects', ProjectViewSet)
    .register('tasks', TaskViewSet)
    .register('projects/:project/tasks', TaskViewSet)
    .register('batch', Batch);

export type Row = Readonly<Record<string, unknown>>;

/** All stored rows of a company, by their keys, as texts. */
export async function storedOf(orm: MikroORM, company: number): Promise<Map<string, string>> {
  const em = companies.fork(orm.em, ALL_TENANTS);
  const rows = new Map<string, string>();
  for (const entity of TENANT_ENTITIES) {
    const populate = entity === Project ? ['labels'] : [];
    const found = await em.find(
      entity as typeof Project,
      { company },
      { populate: populate as never, orderBy: { id: 'asc' } },
    );
    for (const record of found) rows.set(record.id, JSON.stringify(record));
  }
  return rows;
}
