import type { EntityMetadata } from '@mikro-orm/core';

/**
 * Reports whether an entity's class has code that may set values that were not sent: methods, accessors, fields or a
 * constructor with parameters. A class from `defineEntity` has none, and neither has an empty subclass of it.
 *
 * It makes an empty entity and inspects it, as MikroORM does to find defaults.
 */
export function hasCustomCode({ class: Entity, prototype, properties }: EntityMetadata): boolean {
  for (let level = prototype as object; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(level))) {
      // MikroORM adds members to the prototype: setters of properties, and `toJSON`.
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
