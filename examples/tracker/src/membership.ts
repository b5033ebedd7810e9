import { organizations } from '@viewset/auth';
import { IsSafeMethodOnly, matching, Permission, type PermissionView, requireUser, scoped } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Account, Member, Project, Ticket } from './entities.ts';

/** The id of the logged-in user. */
export const userId = (request: FastifyRequest): number => requireUser(request).id;

/** Owners do everything in a project, members write tickets, guests read. */
export const projects = organizations({
  organization: Project,
  membership: Member,
  name: 'project',
  lookupField: 'key',
  roles: { owner: ['organization.write', 'members.write', 'tickets.write'], member: ['tickets.write'], guest: [] },
});

/** Shows the tickets of the user's projects. */
export const TicketsOfJoinedProjects = projects.within(Ticket, 'project');

/** Lets all members of the project read, and its owners and members write. */
export const WritesTickets = IsSafeMethodOnly.or(projects.HasPermission('tickets.write'));

/** Shows the members of the project in the path: tickets can be assigned only to them. */
export const InSameProject = scoped(Account, ({ params }) => ({
  memberships__project__key: (params as { readonly project: string }).project,
}));

/** Shows the members of the user's projects. */
export class InSharedProjects extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return matching<Account>(view.meta!, { memberships: { project: { members: { account: userId(request) } } } });
  }
}

/** Lets only the author of a record change it. */
export class WrittenByAuthor extends Permission {
  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, record: { author: Account }): boolean {
    return record.author.id === userId(request);
  }
}
