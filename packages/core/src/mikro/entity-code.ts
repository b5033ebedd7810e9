import type { EntityMetadata } from '@mikro-orm/core';

/**
 * Tells if the class of an entity has code of its own, which may set what is not sent: methods, accessors, fields or a constructor with
 * parameters. A class that `defineEntity` makes has none, nor has an empty one that extends it.
 *
 * It makes an entity of no record and looks at what that holds, as MikroORM does when it looks for defaults.
 */
export function hasOwnCode({ class: Entity, prototype, properties }: EntityMetadata): boolean {
  for (let level = prototype as object; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      // MikroORM gives the prototype members of its own: setters of properties, and `toJSON`.
      const isOfMikro = name.startsWith('__') || name === 'toJSON' || (name in properties && member.get === undefined);
      if (name !== 'constructor' && !isOfMikro) return true;
    }
  }
  if (Entity.length > 0) return true;
  try {
    const made = new (Entity as unknown as new () => object)();
    return Object.getOwnPropertyNames(made).some((name) => !name.startsWith('__'));
  } catch {
    return true;
  }
}
