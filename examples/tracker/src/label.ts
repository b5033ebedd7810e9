import { IsRoleAdminUser, IsSafeMethodOnly, ModelViewSet, readShape, writeShape } from '@viewset/core';
import { Type } from 'typebox';
import { Label } from './entities.ts';

export const label = readShape(Label, ['name', 'color']);

/** Labels are the same for all projects; administrators look after them. */
export class LabelViewSet extends ModelViewSet(Label, {
  read: label,
  write: writeShape(Label, ['name'], { color: Type.Optional(Type.String({ pattern: '^#[0-9a-f]{6}$' })) }),
  lookupField: 'name',
  ordering: ['name'],
  permissionClasses: [IsSafeMethodOnly.or(IsRoleAdminUser)],
}) {}
