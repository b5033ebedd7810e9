import { IsAuthenticated, IsRoleAdminUser, IsSafeMethodOnly, ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Role } from '../entities/role.ts';

/** Whoever is logged in may read the roles; administrators may change them. */
export class RoleViewSet extends ModelViewSet(Role, {
  read: readShape(Role, ['id', 'name', 'description']),
  write: writeShape(Role, ['name', 'description']),
  searchFields: ['name'],
  orderingFields: { id: 'id', name: 'name' },
  permissionClasses: [IsAuthenticated, IsSafeMethodOnly.or(IsRoleAdminUser)],
}) {}
