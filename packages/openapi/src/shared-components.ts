import { STATUS_CODES } from 'node:http';
import { componentName } from './component-name.ts';
import { DATA_KEYWORDS, isObject, type JsonObject } from './json-schema.ts';
import { pascalCase } from './words.ts';

/** The kinds of parts that a document can share as components. */
const KINDS = ['schemas', 'responses', 'parameters', 'headers'] as const;
type Kind = (typeof KINDS)[number];

/** The components of a document, by kind and name. */
export type ComponentMap = Readonly<Record<Kind, JsonObject>>;

/** A schema and its component name. */
export interface NamedSchema {
  readonly name: string;
  readonly schema: JsonObject;
}

/** A part of a document that can become a component. */
interface Part {
  readonly kind: Kind;
  /** The component's name, if it is free. */
  readonly name: string;
  readonly value: JsonObject;
}

type Replace = (part: Part) => JsonObject | undefined;

/**
 * Makes components of object schemas, which client generators turn into types, and of other parts that occur several
 * times: responses, headers and parameters.
 *
 * @param paths the operations by path and method
 * @param definitions component schemas that the paths already refer to, by name
 * @param named schemas with their names; the first of several equal ones wins
 * @param taken the application's existing components, whose names are taken
 */
export function shareComponents(
  paths: JsonObject,
  definitions: JsonObject,
  named: readonly NamedSchema[],
  taken: JsonObject,
): { readonly paths: JsonObject; readonly components: ComponentMap } {
  const names = new ComponentNames(definitions, taken);
  for (const { name, schema } of named) names.add({ kind: 'schemas', name, value: schema });
  const seen = new Set<string>();
  // A part that already is a component has been searched already.
  const nameParts: Replace = (part) => {
    const known = names.referenceTo(part);
    if (known !== undefined) return known;
    const key = keyOf(part);
    if (part.kind === 'schemas' || seen.has(key)) names.add(part);
    seen.add(key);
    return undefined;
  };
  for (const [name, schema] of names.entries('schemas')) replaceInSchema(schema, name, nameParts);
  replaceInPaths(paths, nameParts);
  const refer: Replace = (part) => names.referenceTo(part);
  const shared = (kind: Kind, name: string, value: JsonObject): unknown =>
    kind === 'schemas' ? replaceInSchema(value, name, refer) : replaceInside(kind, name, value, refer);
  const components = KINDS.map((kind) => {
    const entries = names.entries(kind).map(([name, value]) => [name, shared(kind, name, value)] as const);
    return [kind, Object.fromEntries(entries)] as const;
  });
  return { paths: replaceInPaths(paths, refer), components: Object.fromEntries(components) as unknown as ComponentMap };
}

/** The components by content. */
class ComponentNames {
  readonly #taken: JsonObject;
  readonly #names = new Map<string, string>();
  readonly #values = new Map(KINDS.map((kind) => [kind, new Map<string, JsonObject>()]));

  constructor(definitions: JsonObject, taken: JsonObject) {
    this.#taken = taken;
    for (const [name, value] of Object.entries(definitions) as [string, JsonObject][]) {
      this.#values.get('schemas')!.set(name, value);
      this.#names.set(keyOf({ kind: 'schemas', name, value }), name);
    }
  }

  /** Adds a component, unless an equal one exists. If its name is taken, adds a number. */
  add(part: Part): void {
    const key = keyOf(part);
    if (this.#names.has(key)) return;
    const values = this.#values.get(part.kind)!;
    const taken = this.#taken[part.kind] ?? {};
    const name = componentName(part.name, (each) => !values.has(each) && !Object.hasOwn(taken, each));
    values.set(name, part.value);
    this.#names.set(key, name);
  }

  referenceTo(part: Part): JsonObject | undefined {
    const name = this.#names.get(keyOf(part));
    return name === undefined ? undefined : { $ref: `#/components/${part.kind}/${name}` };
  }

  entries(kind: Kind): [name: string, value: JsonObject][] {
    return [...this.#values.get(kind)!];
  }
}

function keyOf({ kind, value }: Part): string {
  return `${kind} ${JSON.stringify(value)}`;
}

function replaceInPaths(paths: JsonObject, replace: Replace): JsonObject {
  return mapObject(paths, (methods) => mapObject(methods, (operation) => replaceInOperation(operation, replace)));
}

function replaceInOperation(operation: unknown, replace: Replace): unknown {
  if (!isObject(operation)) return operation;
  const name = pascalCase(typeof operation['operationId'] === 'string' ? operation['operationId'] : 'Operation');
  const { parameters, requestBody, responses } = operation;
  return {
    ...operation,
    ...(Array.isArray(parameters)
      ? {
          parameters: parameters.map((each: JsonObject) =>
            replacePart('parameters', pascalCase(String(each['name'])), each, replace),
          ),
        }
      : {}),
    ...(isObject(requestBody) ? { requestBody: replaceInside('responses', `${name}Body`, requestBody, replace) } : {}),
    ...(isObject(responses)
      ? {
          responses: mapObject(responses, (each, status) =>
            replacePart('responses', responseName(name, status), each, replace),
          ),
        }
      : {}),
  };
}

/** Many operations share the same errors; other responses are named after their operation. */
function responseName(operation: string, status: string): string {
  return Number(status) >= 400 ? pascalCase(STATUS_CODES[status] ?? `Status ${status}`) : `${operation}Response`;
}

/** Replaces a part, or the parts inside it. Only error responses are shared; others stay in their operation. */
function replacePart(kind: Kind, name: string, value: unknown, replace: Replace): unknown {
  if (!isObject(value)) return value;
  const isShared = kind !== 'responses' || !name.endsWith('Response');
  return (isShared ? replace({ kind, name, value }) : undefined) ?? replaceInside(kind, name, value, replace);
}

/** Replaces the parts inside a parameter, response, header or request body. */
function replaceInside(kind: Kind, name: string, value: JsonObject, replace: Replace): JsonObject {
  const { schema, headers, content } = value;
  const inner = kind === 'responses' ? name : `${name}Value`;
  return {
    ...value,
    ...(schema === undefined ? {} : { schema: replaceSchema(schema, inner, replace) }),
    ...(isObject(headers)
      ? { headers: mapObject(headers, (each, header) => replacePart('headers', pascalCase(header), each, replace)) }
      : {}),
    ...(isObject(content)
      ? {
          content: mapObject(content, (media) =>
            isObject(media) && media['schema'] !== undefined
              ? { ...media, schema: replaceSchema(media['schema'], inner, replace) }
              : media,
          ),
        }
      : {}),
  };
}

/** Replaces a schema, or the schemas inside it. A nullable object becomes its replacement or null. */
function replaceSchema(schema: unknown, name: string, replace: Replace): unknown {
  if (Array.isArray(schema)) return schema.map((each) => replaceSchema(each, name, replace));
  if (!isObject(schema)) return schema;
  if (isObject(schema['properties'])) {
    const isNullable = Array.isArray(schema['type']) && schema['type'].includes('null');
    const replaced = replace({ kind: 'schemas', name, value: isNullable ? { ...schema, type: 'object' } : schema });
    if (replaced !== undefined) return isNullable ? { anyOf: [replaced, { type: 'null' }] } : replaced;
  }
  return replaceInSchema(schema, name, replace);
}

/** Replaces the schemas inside a schema, but not the schema itself. */
function replaceInSchema(schema: JsonObject, name: string, replace: Replace): JsonObject {
  return mapObject(schema, (value, keyword) => {
    if (DATA_KEYWORDS.has(keyword)) return value;
    if (keyword !== 'properties') return replaceSchema(value, name, replace);
    return mapObject(value, (property, key) => replaceSchema(property, name + pascalCase(key), replace));
  });
}

function mapObject(value: unknown, change: (value: unknown, key: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(value as JsonObject).map(([key, child]) => [key, change(child, key)]));
}
