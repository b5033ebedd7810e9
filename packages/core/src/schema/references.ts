import { isRecord } from '../support/json.ts';
import { ImproperlyConfigured } from '../errors/errors.ts';
import type { AnySchema, JsonSchema } from './json-schema.ts';

/** Schemas that other schemas may refer to, by `$id`. */
export type SharedSchemas = Readonly<Record<string, unknown>>;

/** The keywords whose values are schemas, lists of schemas, or objects of schemas. Others hold plain values. */
const ONE_OR_MANY =
  /^(?:items|additionalItems|prefixItems|contains|additionalProperties|unevaluatedProperties|unevaluatedItems|propertyNames|allOf|anyOf|oneOf|not|if|then|else)$/;
const NAMED = /^(?:properties|patternProperties|dependentSchemas|\$defs|definitions)$/;

/** The base of schemas without an absolute `$id`. */
const BASE = 'schema:///';

/**
 * Finds the targets of `$ref` in a schema, by the rules of JSON Schema 2020-12: a `$id` is the base of the references
 * and anchors in its schema, and a JSON pointer is percent-decoded.
 */
export class References {
  readonly #bases = new Map<JsonSchema, string>();
  readonly #targets = new Map<string, JsonSchema>();
  readonly #root: string;

  constructor(root: JsonSchema, documents: SharedSchemas = {}) {
    this.#root = this.#collect(root, BASE);
    if (!this.#targets.has(this.#root)) this.#targets.set(this.#root, root);
    for (const document of Object.values(documents)) if (isRecord(document)) this.#collect(document, BASE);
  }

  /**
   * Returns the target of a reference in a schema.
   *
   * @throws ImproperlyConfigured for a reference to a target outside the schemas
   */
  target(schema: JsonSchema, ref: string): AnySchema {
    const uri = resolved(ref, this.#bases.get(schema) ?? this.#root);
    const [resource = '', fragment = ''] = uri?.split('#') ?? [];
    const isAnchor = fragment !== '' && !fragment.startsWith('/');
    const start = this.#targets.get(isAnchor ? `${resource}#${fragment}` : resource);
    const steps = isAnchor ? [] : fragment.split('/').slice(1).map(stepOf);
    let found: unknown = start;
    for (const step of steps) {
      found =
        typeof found === 'object' && found !== null && Object.hasOwn(found, step) ? found[step as never] : undefined;
    }
    if (isRecord(found) || typeof found === 'boolean') return found;
    throw new ImproperlyConfigured(`$ref "${ref}" refers to nothing in the schema it stands in`);
  }

  /** Collects the bases and the identifiers of a schema and of all schemas in it. Returns its base. */
  #collect(schema: JsonSchema, outer: string): string {
    if (this.#bases.has(schema)) return this.#bases.get(schema)!;
    const { $id, $anchor, $dynamicAnchor } = schema;
    const id = typeof $id === 'string' ? resolved($id, outer) : undefined;
    const base = id?.replace(/#.*$/s, '') ?? outer;
    this.#bases.set(schema, base);
    if (id !== undefined && !this.#targets.has(id)) this.#targets.set(id.replace(/#$/, ''), schema);
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor === 'string') this.#targets.set(`${base}#${anchor}`, schema);
    }
    for (const [keyword, value] of Object.entries(schema)) {
      const parts =
        NAMED.test(keyword) && isRecord(value) ? Object.values(value) : ONE_OR_MANY.test(keyword) ? [value].flat() : [];
      for (const part of parts) if (isRecord(part)) this.#collect(part, base);
    }
    return base;
  }
}

/** Resolves a reference against a base. Undefined if it is no URI reference. */
function resolved(ref: string, base: string): string | undefined {
  if (base.startsWith('urn:')) return ref.startsWith('#') ? base + ref : URL.parse(ref)?.href;
  return URL.parse(ref, base)?.href;
}

/** Reads a step of a JSON pointer in a URI. */
function stepOf(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // A pointer that is not percent-encoded, as the library accepted before.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}
