import type swagger from '@fastify/swagger';
import { componentName } from './component-name.ts';
import { isObject, type JsonObject } from './json-schema.ts';
import { pascalCase } from './words.ts';

type RefResolver = NonNullable<swagger.FastifyDynamicSwaggerOptions['refResolver']>;

/** Names the components for the application's shared schemas by their `$id`, `Address`, or the last part of it. */
export function referenceNames(): RefResolver {
  const names = new Map<unknown, string>();
  return {
    buildLocalReference: ({ $id }, _baseUri, _fragment, index) => {
      const id = $id ?? index;
      const last =
        typeof id === 'string'
          ? id
              .replace(/(?:\.json)?#?$/, '')
              .split('/')
              .at(-1)!
          : 'Part';
      const name = names.get(id) ?? componentName(pascalCase(last), (each) => ![...names.values()].includes(each));
      names.set(id, name);
      return name;
    },
  };
}

/**
 * Removes references that lead nowhere in the document. In the application's own schemas they may refer to the schema
 * itself, which has no name in the document. Any value is then allowed.
 */
export function withoutLostReferences(document: JsonObject): JsonObject {
  const mend = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(mend);
    if (!isObject(value)) return value;
    const { $ref, ...rest } = value;
    const isLost = typeof $ref === 'string' && !/^[a-z]+:/i.test($ref) && !leadsSomewhere(document, $ref);
    return Object.fromEntries(Object.entries(isLost ? rest : value).map(([key, child]) => [key, mend(child)]));
  };
  return mend(document) as JsonObject;
}

function leadsSomewhere(document: JsonObject, reference: string): boolean {
  if (!reference.startsWith('#/')) return false;
  const steps = reference.slice(2).split('/');
  const unescaped = steps.map((step) => decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'));
  return unescaped.reduce<unknown>((node, step) => (node as JsonObject | undefined)?.[step], document) !== undefined;
}
