import { wrongOption } from '../options.ts';
import { isPermissionClass, type Permission, type PermissionClass } from './permission.ts';

/**
 * Makes one instance of each class, to serve every request.
 * @param owner what declares them, for the error
 * @throws ImproperlyConfigured for something that is no permission class
 */
export function makePermissions(classes: readonly PermissionClass[], owner: string): readonly Permission[] {
  if (!Array.isArray(classes)) {
    throw wrongOption(owner, 'permissionClasses', 'a list of classes that extend Permission', classes);
  }
  return classes.map((Class: unknown, index) => {
    if (isPermissionClass(Class)) return new Class();
    throw wrongOption(owner, `permissionClasses[${index}]`, 'a class that extends Permission', Class);
  });
}
