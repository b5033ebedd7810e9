import type { OperationParameter, OperationPlan } from '@viewset/core';
import type { OperationInput } from './catalog.ts';
import { isObject, type JsonObject, plainSchema } from './json-schema.ts';
import { namesRecord, parentsOf } from './resource.ts';

/**
 * Describes an operation's input: the schemas of its parameters and values, and its conditions.
 *
 * @param isAlone true: includes the long schemas of texts in another language, such as JSON Logic
 */
export function describeOperation(
  plan: OperationPlan,
  { values, query }: OperationInput,
  isAlone: boolean,
): JsonObject {
  const { headerParameters, idempotency, method, view, detail } = plan;
  const ifMatch = detail ? headerParameters.find(({ name }) => name === 'if-match') : undefined;
  return {
    ...(query.length === 0 ? {} : { query: describeQuery(query, isAlone) }),
    ...(values === undefined ? {} : { values: withWords(plainSchema(values), view.fieldWords) }),
    ...(method === 'PUT' ? { replaces: 'Fields that are left out get their defaults' } : {}),
    ...(ifMatch === undefined ? {} : { etag: ifMatch.required ? 'required' : 'optional' }),
    ...(idempotency === undefined ? {} : { key: idempotency === 'required' ? 'recommended' : 'optional' }),
  };
}

/** Describes an action. */
export function describeAction(plan: OperationPlan, input: OperationInput, isAlone: boolean): JsonObject {
  const { documentation, method } = plan;
  const { values: body, ...takes } = describeOperation(plan, input, isAlone);
  const { summary, description } = documentation;
  return {
    summary,
    ...(description === undefined ? {} : { description }),
    ...(method === 'GET' ? { reads: true } : {}),
    ...(namesRecord(plan) ? { id: 'required' } : {}),
    ...takes,
    ...(body === undefined ? {} : { body }),
  };
}

/** Describes the ids in the operations' paths. */
export function describePath(plans: readonly OperationPlan[]): JsonObject {
  const parameters = plans.flatMap(({ pathParameters }) => pathParameters);
  const schemas = new Map(parameters.map(({ name, schema }) => [name, plainSchema(schema)]));
  const parents = [...new Set(plans.flatMap(parentsOf))].map((name) => [name, schemas.get(name)]);
  return {
    ...(parents.length === 0 ? {} : { parents: Object.fromEntries(parents) as JsonObject }),
    ...(schemas.has('pk') ? { id: schemas.get('pk') } : {}),
  };
}

function describeQuery(parameters: readonly OperationParameter[], isAlone: boolean): JsonObject {
  const described = parameters.map(({ name, schema, required }) => {
    const { contentSchema, ...plain } = plainSchema(schema) as JsonObject;
    const content = isAlone && contentSchema !== undefined ? { contentSchema } : {};
    return [name, { ...plain, ...content, ...(required ? { required } : {}) }] as const;
  });
  return Object.fromEntries(described);
}

/** Describes the records that a resource sends to the caller. */
export function describeRecord(record: unknown, { view }: OperationPlan): unknown {
  return withWords(plainSchema(record), view.fieldWords);
}

/** Adds a view's descriptions of its fields to the schema of a record or its variants. */
function withWords(schema: unknown, words: OperationPlan['view']['fieldWords']): unknown {
  if (!isObject(schema)) return schema;
  const { properties, anyOf } = schema;
  if (Array.isArray(anyOf)) return { ...schema, anyOf: (anyOf as unknown[]).map((each) => withWords(each, words)) };
  if (!isObject(properties)) return schema;
  const worded = Object.entries(properties).map(([name, property]) => {
    return [name, Object.hasOwn(words, name) ? { ...(property as object), ...words[name] } : property];
  });
  return { ...schema, properties: Object.fromEntries(worded) as JsonObject };
}
