import { type ApiDocument, follow, type Schema } from './openapi.ts';

/** The way in which a value is shown and edited. */
export type Kind =
  | 'text'
  | 'long text'
  | 'password'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'choice'
  | 'date'
  | 'date-time'
  | 'reference'
  | 'list'
  | 'object'
  | 'file'
  | 'json';

/** A schema without its references, and without null, which stands beside it. */
export interface Described {
  readonly kind: Kind;
  readonly nullable: boolean;
  readonly schema: Schema;
  /** The values of a choice. */
  readonly choices: readonly unknown[];
}

/** A text that may be longer is edited in several lines. */
const LONG_TEXT = 255;

/** Says how a value of a schema is shown and edited; JSON as it is, if nothing better is known. */
export function describe(document: ApiDocument, given: Schema | undefined, name = ''): Described {
  const outer = follow<Schema>(document, given ?? {});
  const parts = [...(outer.anyOf ?? []), ...(outer.oneOf ?? [])].map((part) => follow<Schema>(document, part));
  const others = parts.filter((part) => part.type !== 'null' && part.const !== null);
  const hasNullPart = others.length < parts.length;
  const literals = others.map((part) => part.const);
  const isChoice = others.length > 1 && literals.every((literal) => literal !== undefined);
  const inner = others.length === 1 ? { ...outer, ...others[0]! } : (unionOf(others) ?? outer);
  const types = [inner.type ?? []].flat();
  const schema: Schema = inner;
  const nullable = hasNullPart || types.includes('null') || inner.enum?.includes(null) === true;
  if (isChoice) return { kind: 'choice', nullable, schema, choices: literals };
  const type = types.filter((each) => each !== 'null');
  const choices = (inner.enum ?? (inner.const === undefined ? [] : [inner.const])).filter((value) => value !== null);
  const kind = kindOf(schema, type.length === 1 ? type[0] : undefined, choices, name);
  return { kind, nullable, schema, choices };
}

/** Makes one object of several that a value may be, with the fields of all; undefined if they are no objects. */
function unionOf(parts: readonly Schema[]): Schema | undefined {
  const isObjects = parts.length > 1 && parts.every(({ type, properties }) => type === 'object' && properties);
  if (!isObjects) return undefined;
  const required = (parts[0]!.required ?? []).filter((name) => parts.every((part) => part.required?.includes(name)));
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Schema['properties'] & object,
    required,
  };
}

function kindOf(schema: Schema, type: string | undefined, choices: readonly unknown[], name: string): Kind {
  if (schema['x-reference'] !== undefined && type !== 'array') return 'reference';
  if (schema.contentMediaType !== undefined && (type ?? 'string') === 'string') return 'file';
  if (choices.length > 0 && choices.every((value) => typeof value !== 'object')) return 'choice';
  switch (type) {
    case 'boolean':
    case 'integer':
    case 'number':
      return type;
    case 'string':
      return textKind(schema, name);
    case 'array':
      return schema.items === undefined || Object.keys(schema.items).length === 0 ? 'json' : 'list';
    case 'object':
      return Object.keys(schema.properties ?? {}).length === 0 ? 'json' : 'object';
    case undefined:
    default:
      return 'json';
  }
}

function textKind({ format, maxLength = Infinity }: Schema, name: string): Kind {
  if (format === 'binary') return 'file';
  if (format === 'password' || /password/i.test(name)) return 'password';
  if (format === 'date' || format === 'date-time') return format;
  return format === undefined && maxLength > LONG_TEXT ? 'long text' : 'text';
}

/** The properties of an object's schema, in their order. */
export function propertiesOf(document: ApiDocument, schema: Schema | undefined): [name: string, schema: Schema][] {
  const { properties = {} } = describe(document, schema).schema;
  return Object.entries(properties);
}

/** The value that a form begins with: the schema's default, or nothing. */
export function initialValue(document: ApiDocument, schema: Schema): unknown {
  const { schema: inner, kind } = describe(document, schema);
  if (inner.default !== undefined) return structuredClone(inner.default);
  if (kind === 'object') return {};
  return kind === 'list' ? [] : undefined;
}
