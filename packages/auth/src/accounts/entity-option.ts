import { checkOptionNames, wrongOption } from '@viewset/core';

/**
 * Resolves an option that is either an entity, or an object with an entity and further options.
 *
 * @param content what the entity holds, for the message
 * @throws ImproperlyConfigured for an unknown name, and without an entity
 */
export function resolveEntityOption<Options extends { readonly entity: object }>(
  option: string,
  given: Options['entity'] | Options,
  names: readonly (keyof Options & string)[],
  content: string,
): Options {
  const options = isOptions<Options>(given) ? given : ({ entity: given } as Options);
  const owner = `auth: option "${option}"`;
  checkOptionNames(owner, options, names);
  const entity: unknown = options.entity;
  if (entity === undefined || entity === null) throw wrongOption(owner, 'entity', `the entity of ${content}`, entity);
  return options;
}

/** An entity is a class or an instance of MikroORM's. */
function isOptions<Options extends object>(given: Options | object): given is Options {
  return typeof given === 'object' && (given === null || Object.getPrototypeOf(given) === Object.prototype);
}
