import type { OperationPlan } from '@viewset/core';
import { insideOf } from './envelope.ts';
import { isObject, type JsonObject } from './json-schema.ts';

/** The plans of a document by the paths of the records that they stand at or below, without the parameter of the key: `/api/books`. */
export type PlansByPath = ReadonlyMap<string, readonly OperationPlan[]>;

/** Finds the plans of each path once, for all answers that lead to them. */
export function plansByPath(plans: readonly OperationPlan[]): PlansByPath {
  return Map.groupBy(plans, ({ path }) => path.slice(0, Math.max(0, path.lastIndexOf('/:'))));
}

/**
 * Says where the key of a record leads that a list or a create has answered: to the operations on that record, and on the
 * collections below it. A program that follows links reaches by them what no key of its own making finds.
 *
 * @returns OpenAPI's links of an answer, by the operationIds that they lead to; undefined if there are none
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

/** Points to the key of a record in an answer: of the record itself, or of the first one of a list or of a page. */
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
