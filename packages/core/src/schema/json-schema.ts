/** The parts of a JSON Schema object that the framework reads. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, AnySchema>>;
  readonly patternProperties?: Readonly<Record<string, AnySchema>>;
  readonly required?: readonly string[];
  readonly items?: AnySchema | readonly AnySchema[];
  readonly additionalItems?: AnySchema;
  readonly allOf?: readonly AnySchema[];
  readonly anyOf?: readonly AnySchema[];
  readonly oneOf?: readonly AnySchema[];
  readonly enum?: readonly unknown[];
  readonly $ref?: string;
}

/** A schema, or `true` for any value, `false` for none. */
export type AnySchema = JsonSchema | boolean;

/** Lists the JSON types that a schema names. Empty if it names none. OpenAPI's `nullable` counts as null. */
export function namedTypes({ type = [], nullable }: JsonSchema): readonly string[] {
  const types = typeof type === 'string' ? [type] : type;
  return nullable === true && types.length > 0 && !types.includes('null') ? [...types, 'null'] : types;
}

/** Lists the only values that a schema allows. Undefined if it does not list them. */
export function namedValues(schema: JsonSchema): readonly unknown[] | undefined {
  return 'const' in schema ? [schema['const']] : schema.enum;
}
