import type { OperationPlan } from '@viewset/core';
import { insideOf } from './envelope.ts';
import { isObject, type JsonObject } from './json-schema.ts';

/** Plans by the path of the collection that contains the records, without the key parameter: `/api/books`. */
export type PlansByPath = ReadonlyMap<string, readonly OperationPlan[]>;

/** Groups the plans by path once, for the links of all responses. */
export function plansByPath(plans: readonly OperationPlan[]): PlansByPath {
  return Map.groupBy(plans, ({ path }) => path.slice(0, Math.max(0, path.lastIndexOf('/:'))));
}

/**
 * Links the record's key in the response of a list or create to the operations on that record, and on the collections
 * below it. Programs that follow the links reach operations whose keys they could not guess.
 *
 * @returns OpenAPI's links of a response, by target operationId; undefined if there are none
 */
export function linksOf(
  { action, path, view, envelope }: OperationPlan,
  schema: unknown,
  plans: PlansByPath,
): JsonObject | undefined {
  const inside = insideOf(schema, envelope);
  const found = action === 'list' || action === 'create' ? keyPointer(inside, view.key) : undefined;
  const pointer = inside === schema ? found : within(`/${envelope}`, found);
  if (pointer === undefined) return undefined;
  const above = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, `$request.path.${name}`]);
  const links = (plans.get(path) ?? []).flatMap(({ path: target, operationId }) => {
    const key = /^\/:(\w+)/.exec(target.slice(path.length))?.[1];
    if (key === undefined) return [];
    const parameters = Object.fromEntries([...above, [key, `$response.body#${pointer}`]]) as JsonObject;
    return [[operationId, { operationId, parameters }] as const];
  });
  return links.length === 0 ? undefined : Object.fromEntries(links);
}

/**
 * Returns the JSON pointer to a record's key in a response: of the record itself, or of the first record in a list or
 * page.
 */
function keyPointer(schema: unknown, key: string | undefined): string | undefined {
  if (!isObject(schema) || key === undefined) return undefined;
  const { properties, items, anyOf, oneOf } = schema;
  const kinds = anyOf ?? oneOf;
  if (Array.isArray(kinds)) return firstPointer(kinds.map((kind) => keyPointer(kind, key)));
  if (items !== undefined) return within('/0', keyPointer(items, key));
  if (!isObject(properties)) return undefined;
  if (Object.hasOwn(properties, key)) return `/${key}`;
  const lists = Object.entries(properties).filter(([, property]) => isObject(property) && property['type'] === 'array');
  return firstPointer(lists.map(([name, list]) => within(`/${name}`, keyPointer(list, key))));
}

function within(place: string, pointer: string | undefined): string | undefined {
  return pointer === undefined ? undefined : place + pointer;
}

function firstPointer(pointers: readonly (string | undefined)[]): string | undefined {
  return pointers.find((pointer) => pointer !== undefined);
}
