import type { ModelViewSetClass, PermissionClass } from '@viewset/core';
import { wrongOption } from '@viewset/core';

/** The class of a ready-made view of an entity, with additional members. */
export type ReadyViewClass<Entity extends object, Options, Members> = Pick<
  ModelViewSetClass<Entity, Options>,
  '~entity' | '~declared'
> & { new (): InstanceType<ModelViewSetClass<Entity, Options>> & Members };

/** Rejects a view without `permissionClasses`, which would be open to everybody. */
export function checkPermissionClasses(owner: string, classes: readonly PermissionClass[] | undefined): void {
  if (Array.isArray(classes) && classes.length > 0) return;
  throw wrongOption(owner, 'permissionClasses', 'a list of at least one class, such as [IsRoleAdminUser]', classes);
}
