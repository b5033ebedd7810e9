import { type InputOf, many, ModelViewSet, readShape, type WriteData, writeShape } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Member, Project, Ticket } from './entities.ts';
import { InJoinedProjects, userId, writtenBy } from './membership.ts';

const create = writeShape(Project, ['name', 'description'], {
  key: Type.String({ pattern: '^[a-z][a-z0-9-]{1,19}$' }),
});

/** Everybody may found a project, and then owns it. */
export class ProjectViewSet extends ModelViewSet(Project, {
  read: {
    list: readShape(Project, ['key', 'name']),
    default: readShape(Project, ['key', 'name', 'description', 'created_at'], {
      newest_tickets: many(readShape(Ticket, ['id', 'title', 'status']), { from: 'tickets', orderBy: '-id', limit: 5 }),
    }),
  },
  write: { create, update: writeShape(Project, ['name', 'description']) },
  expand: { members: many(readShape(Member, ['role'], { name: 'account.name' }), { orderBy: 'account__name' }) },
  lookupField: 'key',
  searchFields: ['name', 'description'],
  orderingFields: { key: 'key', created_at: 'created_at' },
  permissionClasses: [InJoinedProjects, writtenBy('owner')],
}) {
  override async performCreate(request: FastifyRequest, data: WriteData<Project, InputOf<typeof create>>) {
    const project = await super.performCreate(request, data);
    request.em.create(Member, { project, account: userId(request), role: 'owner' });
    await request.em.flush();
    return project;
  }
}
