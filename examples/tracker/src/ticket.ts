import { many, ModelViewSet, nested, readShape, refs, writeShape } from '@viewset/core';
import { Type } from 'typebox';
import { attachment } from './attachment.ts';
import { comment } from './comment.ts';
import { Project, Step, Ticket } from './entities.ts';
import { label } from './label.ts';
import { person } from './member.ts';
import { InSameProject, TicketsOfJoinedProjects, userId, WritesTickets } from './membership.ts';

const brief = readShape(Ticket, ['id', 'title', 'status', 'priority', 'due_on'], {
  project: 'project.key',
  assignee: 'assignee.name',
  labels: many('labels.name', { orderBy: 'name' }),
});

const full = readShape(
  Ticket,
  ['id', 'title', 'description', 'status', 'priority', 'starts_on', 'due_on', 'minutes_spent', 'created_at', 'version'],
  {
    project: readShape(Project, ['key', 'name']),
    author: person,
    assignee: person,
    labels: many(label, { orderBy: 'name' }),
    steps: many(readShape(Step, ['id', 'text', 'is_done'])),
    attachments: many(attachment),
    comments: many(comment, { orderBy: '-created_at', limit: 5 }),
  },
);

/** All lists of tickets, of a project and of all projects, can be searched, sorted, exported, counted and followed. */
const lists = {
  searchFields: ['title', 'description', 'comments__text'],
  filterFields: {
    status: 'status',
    label: 'labels__name',
    assignee: 'assignee__name',
    due_before: 'due_on__lt',
    project: 'project__key',
    id: 'id',
  },
  orderingFields: { id: 'id', priority: 'priority', due_on: 'due_on', project: 'project__key' },
  exports: ['csv', 'ndjson'],
  live: true,
  summary: {
    group: ['status', 'priority', 'project.key', 'assignee.name', 'due_on:month'],
    values: { priority: ['avg', 'max'], due_on: ['min'] },
  },
} as const;

/** The tickets of a project. */
export class TicketViewSet extends ModelViewSet(Ticket, {
  ...lists,
  read: { list: brief, default: full },
  write: writeShape(Ticket, ['title', 'description', 'status', 'starts_on', 'due_on', 'assignee'], {
    priority: Type.Optional(Type.Integer({ minimum: 1, maximum: 5 })),
    minutes_spent: Type.Optional(Type.Integer({ minimum: 0 })),
    labels: refs('labels.name', { max: 10 }),
    steps: nested(writeShape(Step, ['text', 'is_done']), { max: 20, update: true }),
  }),
  fill: { author: userId },
  validate: (_data, problems, _request, _record, { starts_on, due_on }) => {
    if (starts_on && due_on && due_on < starts_on) problems.add('/due_on', 'must not be before starts_on');
  },
  referencePermissions: { assignee: [InSameProject] },
  expand: { comments: many(comment, { orderBy: 'created_at' }) },
  bulk: 50,
  permissionClasses: [TicketsOfJoinedProjects, WritesTickets],
}) {}

/** The tickets of all the projects that the user is a member of, to search in. */
export class AllTicketViewSet extends ModelViewSet(Ticket, {
  ...lists,
  read: { list: brief, retrieve: full },
  permissionClasses: [TicketsOfJoinedProjects],
}) {}
