import type { OperationPlan } from '@viewset/core';
import { insideOf } from './envelope.ts';
import { isObject, type JsonObject } from './json-schema.ts';
import type { NamedSchema } from './shared-components.ts';
import { pascalCase } from './words.ts';

/** An operation of the document, and its plan. */
export interface DescribedOperation {
  readonly plan: OperationPlan;
  readonly operation: JsonObject;
}

/** The verbs that operationIds put before the name of one record. */
const ONE = /^(?:retrieve|create|replace|update|destroy)(?=[A-Z])/;

/**
 * Names the schemas of views, after the view's entity, or after its path if two views of the entity differ:
 *
 * - `Product`: read. Other read shapes are `ProductListItem`, `ProductDetail`, `ProductCreated` and `ProductUpdated` by
 *   operation, or have the view's name for them, `ProductStaff`.
 * - `ProductInput`: created and replaced; `ProductReplacement` if a PUT takes something else. Other write shapes are
 *   `ProductStaffInput`.
 * - `ProductPatch`: updated; `ProductBulkPatch` if by an array.
 * - `ProductPage`: listed.
 * - `ProductEnvelope`, `ProductInputEnvelope` and `ProductPatchEnvelope`: the view's envelopes.
 *
 * A schema whose `title` looks like a type name keeps it: `Error`.
 */
export function schemaNames(paths: JsonObject, operations: readonly DescribedOperation[]): NamedSchema[] {
  const taken = new Map<string, string>();
  const all = Object.values(paths).flatMap((methods) => Object.values(methods as JsonObject).filter(isObject));
  const wanted = [...operations.flatMap(operationSchemas), ...all.flatMap(titledSchemas)];
  return wanted.map(({ names, schema }) => {
    const text = JSON.stringify(schema);
    const known = names.find((each) => taken.get(each) === text);
    const name = known ?? names.find((each) => !taken.has(each)) ?? names.at(-1)!;
    taken.set(name, text);
    return { name, schema };
  });
}

interface Wanted {
  readonly names: readonly string[];
  readonly schema: JsonObject;
}

function operationSchemas({ plan, operation }: DescribedOperation): Wanted[] {
  const { action, view, envelope } = plan;
  if (!['list', 'create', 'retrieve', 'update'].includes(action) || view.entity === undefined) return [];
  const named = (schema: unknown, ...suffixes: readonly string[]): Wanted[] =>
    isObject(schema) && isObject(schema['properties'])
      ? [{ names: subjectsOf(plan).flatMap((subject) => suffixes.map((suffix) => subject + suffix)), schema }]
      : [];
  const responses = operation['responses'] as JsonObject;
  const answer = schemaOf(responses[action === 'create' ? 201 : 200]);
  const record = action === 'list' ? itemOf(answer) : oneOf(insideOf(answer, envelope));
  // Only operations on one record use this envelope; an envelope of several records stays with its operation.
  const enveloped = (envelopeSchema: unknown, ...names: readonly string[]): Wanted[] =>
    envelope === undefined || !isOne(plan) ? [] : named(envelopeSchema, ...names.map((name) => `${name}Envelope`));
  const records = kindsIn(record, plan.readShapes).flatMap(([shape, schema]) => named(schema, suffixOf(shape)));
  if (action === 'list') return [...records, ...named(answer, 'Page')];
  const sent = schemaOf(operation['requestBody']);
  const body = oneOf(insideOf(sent, envelope));
  const suffixes = bodySuffixes(plan);
  const form = schemaOf(operation['requestBody'], 'multipart/form-data');
  const ofForms = suffixes.map((suffix) => `${suffix.replace('Input', '')}Form`);
  const envelopes = [...enveloped(answer, ''), ...enveloped(sent, ...suffixes)];
  const bodies = (schema: unknown, ends: readonly string[]): Wanted[] =>
    kindsIn(schema, plan.writeShapes).flatMap(([shape, kind]) =>
      named(kind, ...ends.map((end) => prefixOf(shape) + end)),
    );
  return [...records, ...bodies(body, suffixes), ...bodies(form, ofForms), ...envelopes];
}

/** Tells if an operation is about one record. */
function isOne({ action, detail, variant }: OperationPlan): boolean {
  return detail || (action === 'create' && variant === undefined);
}

function bodySuffixes({ method, detail }: OperationPlan): readonly string[] {
  if (method === 'PUT') return ['Input', 'Replacement'];
  if (method === 'PATCH') return [detail ? 'Patch' : 'BulkPatch'];
  return ['Input'];
}

/** Returns the schema of one record: the schema itself, or its items if a body or response may contain several. */
function oneOf(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const [one] = Array.isArray(schema['oneOf']) ? (schema['oneOf'] as unknown[]) : [];
  return one ?? (schema['type'] === 'array' ? schema['items'] : schema);
}

/** Lists the possible shapes of a record with their schemas. */
function kindsIn(record: unknown, shapes: readonly string[]): (readonly [shape: string, schema: unknown])[] {
  if (shapes.length < 2) return [[shapes[0] ?? 'default', record]];
  const schemas = isObject(record) && Array.isArray(record['anyOf']) ? record['anyOf'] : [];
  return shapes.map((shape, index) => [shape, schemas[index]] as const);
}

/** The name suffixes for read shapes of single operations. */
const SHAPE_SUFFIXES: Readonly<Record<string, string>> = {
  default: '',
  list: 'ListItem',
  retrieve: 'Detail',
  create: 'Created',
  update: 'Updated',
};

function suffixOf(shape: string): string {
  return SHAPE_SUFFIXES[shape] ?? pascalCase(shape);
}

/** The name prefixes for bodies of alternative write shapes. */
function prefixOf(shape: string): string {
  return shape in SHAPE_SUFFIXES ? '' : pascalCase(shape);
}

/** Returns the schema of a response or body for a media type. */
function schemaOf(part: unknown, type = 'application/json'): unknown {
  const content = isObject(part) ? part['content'] : undefined;
  const media = isObject(content) ? content[type] : undefined;
  return isObject(media) ? media['schema'] : undefined;
}

/** Returns the schema of a list's records: the items of the array, or of the page's only array. */
function itemOf(list: unknown): unknown {
  if (!isObject(list)) return undefined;
  if (list['type'] === 'array') return list['items'];
  const arrays = Object.values((list['properties'] ?? {}) as JsonObject).filter(
    (property) => isObject(property) && property['type'] === 'array',
  );
  return arrays.length === 1 ? (arrays[0] as JsonObject)['items'] : undefined;
}

/** The candidate names for one record, after its entity, its path and its view. */
function subjectsOf({ view, operationId }: OperationPlan): string[] {
  const base = operationId.replace(ONE, '');
  const names = [view.entity, base === operationId ? view.basename : base, view.name.replace(/View(?:[Ss]et)?$/, '')];
  return [...new Set(names.filter((name) => name !== undefined).map(pascalCase))];
}

function titledSchemas({ responses }: JsonObject): Wanted[] {
  return Object.values((responses ?? {}) as JsonObject).flatMap((response) => {
    const schema = schemaOf(response);
    const title = isObject(schema) ? schema['title'] : undefined;
    return typeof title === 'string' && /^[A-Z]\w*$/.test(title)
      ? [{ names: [title], schema: schema as JsonObject }]
      : [];
  });
}
