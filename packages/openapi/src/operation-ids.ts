import { freeName } from './component-name.ts';
import { isObject, type JsonObject } from './json-schema.ts';
import { pascalCase } from './words.ts';

/**
 * Gives every operation a unique `operationId`. Plans keep theirs; a missing one is made from the method and path,
 * `getHoursDay`; one that is taken gets a number.
 *
 * @param planned the operationIds of plans
 */
export function withOperationIds(paths: JsonObject, planned: ReadonlySet<string>): JsonObject {
  const taken = new Set<unknown>(planned);
  const named = (path: string, method: string, operation: JsonObject): JsonObject => {
    const given = operation['operationId'];
    const base = typeof given === 'string' && given !== '' ? given : method + pascalCase(path);
    const operationId = freeName(base, (name) => !taken.has(name));
    taken.add(operationId);
    return { operationId, ...operation, ...(operationId === given ? {} : { operationId }) };
  };
  const entries = Object.entries(paths).map(([path, methods]) => {
    const operations = Object.entries(methods as JsonObject).map(([method, operation]) => [
      method,
      isObject(operation) ? named(path, method, operation) : operation,
    ]);
    return [path, Object.fromEntries(operations)] as const;
  });
  return Object.fromEntries(entries);
}
