import type { AnyValidateFunction } from 'ajv/dist/core.js';
import type { Ajv2019 } from 'ajv/dist/2019.js';
import { pointerStep } from '../json-pointer.ts';
import type { JsonSchema } from './json-schema.ts';
import { newAjv } from './new-ajv.ts';
import { LIST_OF_SCHEMAS, MAP_OF_SCHEMAS, ONE_SCHEMA, OPENNESS } from './schema-keywords.ts';

const ROOT = 'viewset:schema';

/** A schema as the functions that AJV generates: of the whole, and of each part that a value need not be valid by. */
export class CompiledSchema {
  readonly validate: AnyValidateFunction;
  /** Of each member of a union, and of each `if`. */
  readonly members: ReadonlyMap<JsonSchema, AnyValidateFunction>;

  /** @throws what AJV throws of a schema that it cannot compile */
  constructor(schema: JsonSchema) {
    const ajv = newAjv(true);
    ajv.addSchema(schema, ROOT);
    this.validate = compiled(ajv, ROOT);
    this.members = new Map(
      [...subschemas(schema, '#')]
        .filter(({ isTried }) => isTried)
        .map(({ part, pointer }) => [part, compiled(ajv, ROOT + pointer)] as const),
    );
  }
}

interface Subschema {
  readonly part: JsonSchema;
  readonly pointer: string;
  /** Whether a value is tried by it, to find out what else holds. */
  readonly isTried: boolean;
}

/** Every schema within a schema, at any depth. */
function* subschemas(schema: JsonSchema, pointer: string): Generator<Subschema> {
  for (const [keyword, value] of Object.entries(schema)) {
    const isTried = keyword === 'anyOf' || keyword === 'oneOf' || keyword === 'if';
    for (const [steps, part] of heldBy(keyword, value)) {
      if (typeof part !== 'object') continue;
      const at = `${pointer}${[keyword, ...steps].map(uriStep).join('')}`;
      yield { part, pointer: at, isTried };
      yield* subschemas(part, at);
    }
  }
}

type Held = readonly [steps: readonly string[], part: JsonSchema | boolean];

function heldBy(keyword: string, value: unknown): readonly Held[] {
  const isList = LIST_OF_SCHEMAS.has(keyword) && Array.isArray(value);
  if (isList || MAP_OF_SCHEMAS.has(keyword)) {
    return Object.entries(value as Record<string, JsonSchema>).map(([step, part]) => [[step], part]);
  }
  return ONE_SCHEMA.has(keyword) || OPENNESS.has(keyword) ? [[[], value as JsonSchema | boolean]] : [];
}

function uriStep(key: string): string {
  return encodeURIComponent(pointerStep(key)).replaceAll('%2F', '/');
}

function compiled(ajv: Ajv2019, key: string): AnyValidateFunction {
  const validate = ajv.getSchema(key);
  if (validate === undefined) throw new Error('a part of it cannot be found');
  return validate;
}
