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
  | 'stored file'
  | 'json';

/** A schema without its references, and without null, which stands beside it. */
export interface Described {
  /** The document that the schema stands in. */
  readonly document: ApiDocument;
  readonly kind: Kind;
  readonly nullable: boolean;
  readonly schema: Schema;
  /** The values of a choice. */
  readonly choices: readonly unknown[];
  /**
   * The field of an object by which the server knows a record that is there already; a new one has none, so nobody
   * types it. Undefined if there is no such field.
   */
  readonly key: string | undefined;
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
  const key = keyOfUnion(others);
  const types = [inner.type ?? []].flat();
  const schema: Schema = inner;
  const nullable = hasNullPart || types.includes('null') || inner.enum?.includes(null) === true;
  if (isChoice) return { document, kind: 'choice', nullable, schema, choices: literals, key };
  const type = types.filter((each) => each !== 'null');
  const choices = (inner.enum ?? (inner.const === undefined ? [] : [inner.const])).filter((value) => value !== null);
  const kind = kindOf(schema, type.length === 1 ? type[0] : undefined, choices, name);
  return { document, kind, nullable, schema, choices, key };
}

/** Makes one object of several that a value may be, with the fields of all, or one list of several; undefined of anything else. */
function unionOf(parts: readonly Schema[]): Schema | undefined {
  const items = parts.map((part) => (part.type === 'array' ? part.items : undefined));
  if (items.length > 1 && items.every((item) => item !== undefined)) return { type: 'array', items: { anyOf: items } };
  const isObjects = parts.length > 1 && parts.every(({ type, properties }) => type === 'object' && properties);
  if (!isObjects) return undefined;
  const required = (parts[0]!.required ?? []).filter((name) => parts.every((part) => part.required?.includes(name)));
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Schema['properties'] & object,
    required,
  };
}

/** Finds the field that one of several objects must have and another cannot: a child that is there, beside a new one. */
function keyOfUnion(parts: readonly Schema[]): string | undefined {
  const required = parts.flatMap((part) => part.required ?? []);
  return required.find((name) => parts.some(({ properties }) => properties !== undefined && !(name in properties)));
}

function kindOf(schema: Schema, type: string | undefined, choices: readonly unknown[], name: string): Kind {
  if (schema['x-reference'] !== undefined && type !== 'array') return 'reference';
  if (schema.format === 'binary') return 'file';
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
      if (isStoredFile(schema)) return 'stored file';
      return Object.keys(schema.properties ?? {}).length === 0 ? 'json' : 'object';
    case undefined:
    default:
      return 'json';
  }
}

/** Tells if the API shows a file by a schema: any other object may look like one, and lead anywhere. */
function isStoredFile({ title, properties = {} }: Schema): boolean {
  const isLink = properties['url']?.format === 'uri-reference';
  return title === 'File' && isLink && ['name', 'size', 'type'].every((name) => Object.hasOwn(properties, name));
}

/** Tells if a text is of digits alone, such as a code that is sent by mail. */
export function isOfDigits({ pattern = '' }: Schema): boolean {
  return /^\^(?:\[0-9\]|\\d)/.test(pattern);
}

function textKind(schema: Schema, name: string): Kind {
  const { format, maxLength = Infinity } = schema;
  if (format === 'password' || /password/i.test(name)) return 'password';
  if (format === 'date' || format === 'date-time') return format;
  return format === undefined && maxLength > LONG_TEXT && !isOfDigits(schema) ? 'long text' : 'text';
}

/** The properties of an object's schema, in their order. */
export function propertiesOf(document: ApiDocument, schema: Schema | undefined): [name: string, schema: Schema][] {
  const { properties = {} } = describe(document, schema).schema;
  return Object.entries(properties);
}

/** The fields of an object that people fill in: all but the key. */
export function fieldsOf(document: ApiDocument, described: Described): [name: string, schema: Schema][] {
  return propertiesOf(document, described.schema).filter(([name]) => name !== described.key);
}

/** The value that a form begins with: the schema's default, or nothing. */
export function initialValue(document: ApiDocument, schema: Schema): unknown {
  const described = describe(document, schema);
  if (described.schema.default !== undefined) return structuredClone(described.schema.default);
  if (described.kind === 'object') return {};
  return described.kind === 'list' ? [] : undefined;
}

/**
 * Takes of what was read that which may be written: of an object the fields of the schema, of a related record the field
 * that it is written by.
 */
export function writable(document: ApiDocument, given: Schema | undefined, value: unknown): unknown {
  const { kind, schema } = describe(document, given);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === 'reference' && isObject) return fields[schema['x-reference']!.field];
  if (kind === 'list' && Array.isArray(value)) return value.map((each) => writable(document, schema.items, each));
  if (kind !== 'object' || !isObject) return value;
  const names = propertiesOf(document, schema).filter(([name]) => fields[name] !== undefined);
  return Object.fromEntries(names.map(([name, each]) => [name, writable(document, each, fields[name])]));
}
