import { ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Account, Member } from './entities.ts';
import { InSharedProjects, writtenBy } from './membership.ts';

export const person = readShape(Account, ['id', 'name']);

export class MemberViewSet extends ModelViewSet(Member, {
  read: readShape(Member, ['id', 'role'], { account: person }),
  write: { create: writeShape(Member, ['role'], { account: 'account.email' }), update: writeShape(Member, ['role']) },
  filterFields: { role: 'role' },
  orderingFields: { name: 'account__name' },
  permissionClasses: [writtenBy('owner')],
}) {}

/** The people that one shares a project with, to find those who can be given a ticket. */
export class PersonViewSet extends ModelViewSet(Account, {
  read: person,
  operations: ['list', 'retrieve'],
  searchFields: ['name'],
  ordering: ['name'],
  permissionClasses: [InSharedProjects],
}) {}
