import { RoleViewSet as RoleViews } from '@viewset/auth';
import { readShape, writeShape } from '@viewset/core';
import { Role } from '../entities/role.ts';

/** Logged-in users may read the roles; administrators may change them. */
export class RoleViewSet extends RoleViews(Role, {
  read: readShape(Role, ['id', 'name', 'description']),
  write: writeShape(Role, ['name', 'description']),
  description: 'The roles that accounts may have; the administrator changes them.',
}) {}
