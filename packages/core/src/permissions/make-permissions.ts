import { wrongOption } from '../options.ts';
import { instanceOf, Permission, type PermissionClass } from './permission.ts';

/** The instances of a list of permission classes. Throws ImproperlyConfigured for anything else in it. */
export function makePermissions(classes: readonly PermissionClass[], owner: string): readonly Permission[] {
  if (!Array.isArray(classes)) throw wrongOption(owner, 'permissionClasses', 'an array of permission classes', classes);
  return classes.map((PermissionType) => {
    const isClass = typeof PermissionType === 'function' && PermissionType.prototype instanceof Permission;
    if (!isClass && PermissionType !== Permission) {
      throw wrongOption(owner, 'permissionClasses', 'an array of permission classes', PermissionType);
    }
    return instanceOf(PermissionType);
  });
}
