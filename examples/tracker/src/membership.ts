import {
  IsSafeMethodOnly,
  matching,
  NotFound,
  Permission,
  type PermissionClass,
  type PermissionView,
  QuerySet,
  requireUser,
  scoped,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { Account, Member, Project, type PROJECT_ROLES, Ticket } from './entities.ts';

type ProjectRole = (typeof PROJECT_ROLES)[number];
type ProjectParams = { readonly project?: string; readonly pk?: string };

/** The id of the logged-in user. */
export const userId = (request: FastifyRequest): number => requireUser(request).id;

/** Shows the projects that the user is a member of. */
export const InJoinedProjects = scoped(Project, (request) => ({ members__account: userId(request) }));

/** Shows the tickets of these projects. */
export const TicketsOfJoinedProjects = scoped(Ticket, (request) => ({ project__members__account: userId(request) }));

/** Shows the members of the project in the path: tickets can be assigned only to them. */
export const InSameProject = scoped(Account, ({ params }) => ({
  memberships__project__key: (params as ProjectParams).project!,
}));

/** Shows the members of the user's projects. */
export class InSharedProjects extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return matching<Account>(view.meta!, { memberships: { project: { members: { account: userId(request) } } } });
  }
}

/** Lets every user read who sees the project of the path, and lets some of its roles write. */
export function writtenBy(...roles: ProjectRole[]): PermissionClass {
  class HasProjectRole extends Permission {
    override async hasPermission(request: FastifyRequest): Promise<boolean> {
      const { project, pk } = request.params as ProjectParams;
      const key = project ?? pk;
      if (key === undefined) return true; // a new project
      const members = QuerySet.of(request.em, Member);
      const member = await members.filter({ project__key: key, account: userId(request) }).entity();
      if (member === undefined) throw new NotFound();
      return roles.includes(member.role);
    }
  }
  return IsSafeMethodOnly.or(HasProjectRole);
}

/** Lets only the author of a record change it. */
export class WrittenByAuthor extends Permission {
  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, record: { author: Account }): boolean {
    return record.author.id === userId(request);
  }
}
