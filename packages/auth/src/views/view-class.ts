import type { EntityName } from '@mikro-orm/core';
import { ModelViewSet, type ModelViewSetBase, type ModelViewSetClass, type ModelViewSetOptions } from '@viewset/core';

/** The options of a ready-made view: those of any ModelViewSet, which take the place of its own, and further ones. */
export type ReadyViewOptions<Entity extends object> = Partial<ModelViewSetOptions<Entity>>;

/** The class of a ready-made view: with the options of the application, and for the rest its own. */
export type ReadyViewClass<Entity extends object, Own, Options> = ModelViewSetClass<
  Entity,
  Omit<Own, keyof Options> & Options
>;

/** Makes the class that a ready-made view extends. Its records are known by what they share alone. */
export function viewClass(entity: EntityName<object>, own: object, options: object): new () => ModelViewSetBase {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return ModelViewSet(entity, { ...own, ...Object.fromEntries(given) } as never) as never;
}
