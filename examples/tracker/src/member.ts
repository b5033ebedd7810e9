import { ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Account, Member } from './entities.ts';
import { InSharedProjects, projects } from './membership.ts';

export const person = readShape(Account, ['id', 'name']);

/** Owners add people who have an account. Members see each other, and can leave. */
export class MemberViewSet extends projects.MembershipViewSet({
  read: readShape(Member, ['id', 'role'], { account: person }),
  write: { create: writeShape(Member, ['role'], { account: 'account.email' }), update: writeShape(Member, ['role']) },
  operations: ['list', 'create', 'retrieve', 'update', 'destroy'],
}) {}

/** The people that one shares a project with, to find those who can be given a ticket. */
export class PersonViewSet extends ModelViewSet(Account, {
  read: person,
  operations: ['list', 'retrieve'],
  searchFields: ['name'],
  ordering: ['name'],
  permissionClasses: [InSharedProjects],
}) {}
