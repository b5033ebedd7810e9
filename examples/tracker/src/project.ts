import { many, readShape, writeShape } from '@viewset/core';
import { Type } from 'typebox';
import { Member, Project, Ticket } from './entities.ts';
import { projects } from './membership.ts';

const create = writeShape(Project, ['name', 'description'], {
  key: Type.String({ pattern: '^[a-z][a-z0-9-]{1,19}$' }),
});

/** Everybody may found a project, and then owns it. */
export class ProjectViewSet extends projects.OrganizationViewSet({
  read: {
    list: readShape(Project, ['key', 'name']),
    default: readShape(Project, ['key', 'name', 'description', 'created_at'], {
      newest_tickets: many(readShape(Ticket, ['id', 'title', 'status']), { from: 'tickets', orderBy: '-id', limit: 5 }),
    }),
  },
  write: { create, update: writeShape(Project, ['name', 'description']) },
  expand: { members: many(readShape(Member, ['role'], { name: 'account.name' }), { orderBy: 'account__name' }) },
  searchFields: ['name', 'description'],
  orderingFields: { key: 'key', created_at: 'created_at' },
}) {}
