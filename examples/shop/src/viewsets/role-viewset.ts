import {
  type InputOf,
  IsAuthenticated,
  IsRoleAdminUser,
  IsSafeMethodOnly,
  ModelViewSet,
  readShape,
  type WriteData,
  writeShape,
} from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import { requireOtherRole } from '../administrators.ts';
import { Role } from '../entities/role.ts';

const write = writeShape(Role, ['name', 'description']);

/** Whoever is logged in may read the roles; administrators may change them. */
export class RoleViewSet extends ModelViewSet(Role, {
  read: readShape(Role, ['id', 'name', 'description']),
  write,
  searchFields: ['name'],
  orderingFields: { id: 'id', name: 'name' },
  permissionClasses: [IsAuthenticated, IsSafeMethodOnly.or(IsRoleAdminUser)],
  description: 'The roles that accounts may have; the administrator changes them.',
}) {
  override performUpdate(
    request: FastifyRequest,
    role: Role,
    data: WriteData<Role, Partial<InputOf<typeof write>>>,
  ): Promise<Role> {
    if (data.name !== undefined && data.name !== role.name) requireOtherRole(role);
    return super.performUpdate(request, role, data);
  }

  override performDestroy(request: FastifyRequest, role: Role): Promise<void> {
    requireOtherRole(role);
    return super.performDestroy(request, role);
  }
}
