import { randomBytes, randomUUID } from 'node:crypto';
import type { OperationPlan } from '@viewset/core';
import type { TSchema } from 'typebox';
import type { Factories } from './factories.ts';
import { Factory } from './factory.ts';
import { uniqueDay, uniqueMoment, uniqueText, uniqueTime } from './unique-value.ts';

/** The JSON Schema keywords that determine a field's value. */
export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly FieldSchema[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minItems?: number;
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly contentMediaType?: string;
  readonly 'x-reference'?: { readonly entity: string; readonly field: string };
}

/** A body by the names of its fields. */
export type Body = Readonly<Record<string, unknown>>;

/** Returns the schemas of the fields in a plan's body; empty without a body. */
export function bodyFields(plan: OperationPlan): Readonly<Record<string, FieldSchema>> {
  return ((plan.body?.schema ?? {}) as FieldSchema).properties ?? {};
}

/** Makes bodies that fit a schema. Values differ between bodies; references point to new records. */
export class Bodies {
  readonly #factories: Factories;

  constructor(factories: Factories) {
    this.#factories = factories;
  }

  /** Makes a value that fits a schema. @param given values for fields of an object */
  async make(schema: TSchema, given: Body = {}): Promise<Body> {
    return (await this.#value(schema, 'body', this.#factories.next(), given)) as Body;
  }

  async #value(schema: FieldSchema, name: string, number: number, given: Body = {}): Promise<unknown> {
    const { 'x-reference': reference, anyOf, properties, items, minItems = 0 } = schema;
    if (reference !== undefined) return this.#reference(reference);
    const values = 'const' in schema ? [schema.const] : (schema.enum ?? []).filter((value) => value !== null);
    if (values.length > 0) return values[number % values.length];
    // In unions for child records, new records come after existing ones.
    const member = anyOf?.findLast(({ type }) => type !== 'null');
    if (member !== undefined) return this.#value(member, name, number, given);
    if (properties !== undefined) return this.#object(properties, number, given);
    if (items !== undefined) {
      const made = Array.from({ length: Math.max(1, minItems) }, () =>
        this.#value(items, name, this.#factories.next()),
      );
      return Promise.all(made);
    }
    return scalar(schema, name, number);
  }

  async #object(properties: Readonly<Record<string, FieldSchema>>, number: number, given: Body = {}): Promise<Body> {
    const made: Record<string, unknown> = {};
    for (const [name, schema] of Object.entries(properties)) {
      made[name] = Object.hasOwn(given, name) ? given[name] : await this.#value(schema, name, number);
    }
    return made;
  }

  /** Stores a record and returns the field that refers to it in bodies. */
  async #reference({ entity, field }: NonNullable<FieldSchema['x-reference']>): Promise<unknown> {
    const meta = this.#factories.orm.getMetadata().getByClassName(entity);
    const record = (await new Factory<object>(this.#factories, meta.class, {}).create()) as Body;
    return onWire(record[field]);
  }
}

/** Converts an entity's value to its JSON form. */
export function onWire(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return JSON.parse(JSON.stringify(value ?? null)) as unknown;
}

function scalar(schema: FieldSchema, name: string, number: number): unknown {
  const type = [schema.type ?? []].flat().find((each) => each !== 'null');
  if (type === 'string' || (type === undefined && schema.format !== undefined)) return text(schema, name, number);
  if (type === 'boolean') return number % 2 === 1;
  if (type === 'integer' || type === 'number') return within(schema, number);
  if (schema.contentMediaType !== undefined) throw unknownValue(name, 'is a file');
  return type === 'array' ? [] : {};
}

function within(schema: FieldSchema, number: number): number {
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  const least = Math.max(schema.minimum ?? -Infinity, exclusiveMinimum + 1, 0);
  const greatest = Math.min(schema.maximum ?? Infinity, exclusiveMaximum - 1);
  return greatest === Infinity ? least + number : least + (number % (greatest - least + 1));
}

const FORMATS: Readonly<Record<string, (number: number) => string>> = {
  'date-time': (number) => uniqueMoment(number).toISOString(),
  date: uniqueDay,
  time: uniqueTime,
  uuid: () => randomUUID(),
  email: (number) => `user${number}@example.com`,
  uri: (number) => `https://example.com/${number}`,
  url: (number) => `https://example.com/${number}`,
};

/** Texts that fit common patterns, tried in this order. */
const PATTERNED: readonly ((number: number, name: string) => string)[] = [
  (number, name) => `${name.toLowerCase().replaceAll(/[^a-z]/g, '')}-${number}`,
  (number) => `a${number}`,
  (number) => String(number),
  (number) => `A${number}`,
  (number) => `#${number.toString(16).padStart(6, '0')}`,
  (number) => `+49${String(number).padStart(9, '0')}`,
  ...[2, 3, 4, 5, 6, 8, 10, 13].flatMap((length) => [
    (number: number) => String(number).padStart(length, '0').slice(-length),
    (number: number) => letters(number, length),
    (number: number) => letters(number, length).toUpperCase(),
  ]),
  () => randomBytes(12).toString('hex'),
];

function letters(number: number, length: number): string {
  return Array.from({ length }, (_, place) => String.fromCodePoint(97 + (Math.floor(number / 26 ** place) % 26))).join(
    '',
  );
}

function text(schema: FieldSchema, name: string, number: number): string {
  const { format, pattern, minLength = 0, maxLength } = schema;
  if (format !== undefined && Object.hasOwn(FORMATS, format)) return FORMATS[format]!(number);
  if (pattern === undefined) return uniqueText(number, name, maxLength).padEnd(minLength, 'x');
  const expression = new RegExp(pattern, 'u');
  const fits = (made: string): boolean =>
    expression.test(made) && made.length >= minLength && made.length <= (maxLength ?? Infinity);
  const found = PATTERNED.map((make) => make(number, name)).find(fits);
  if (found === undefined) throw unknownValue(name, `has the pattern ${pattern}`);
  return found;
}

function unknownValue(name: string, reason: string): Error {
  return new Error(`bodyFor: give a value of "${name}", which ${reason}`);
}
