import { type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors.ts';
import { isRecord, pointerStep } from '../../json.ts';
import { checkOptions, type OptionRule, TEXT } from '../../options.ts';
import type { ListEnvelope } from '../../pagination/page-names.ts';
import { invalidInput } from '../../schema/error-details.ts';

/**
 * The members that wrap the bodies and responses of a view.
 *
 * @example
 * const envelope: EnvelopeOption = { one: 'article', many: 'articles', count: 'articlesCount' };
 * // GET /articles/1   {"article":{"id":1}}
 * // GET /articles     {"articlesCount":3,"articles":[ 3 records ]}
 */
export interface EnvelopeOption {
  /** The member of one record: `{ "article": { … } }`. Default: a record is not wrapped. */
  readonly one?: string;
  /** The member of several records: `{ "articles": [ … ] }`. Default: `results` on a page; arrays are not wrapped. */
  readonly many?: string;
  /** The member of a list with the number of all records. Needs `many`. Default: a list with `many` has no count. */
  readonly count?: string;
}

export const ENVELOPE_RULE: OptionRule = [
  'an object of "one", "many" and "count", or null',
  (value) => value === null || isRecord(value),
];

/** The body of a request without its envelope, and the JSON pointer to it. */
interface Opened {
  readonly body: unknown;
  readonly path: string;
  /** True if it has to be an array of bodies. */
  readonly isSeveral: boolean;
}

/** The bodies that a route takes. */
export interface TakenBodies {
  readonly one: boolean;
  readonly several: boolean;
}

/**
 * Puts the records of a view into the members that its option `envelope` names, and takes bodies out of them. Whoever reads a body or makes
 * an answer within the view sees records alone.
 */
export class Envelope {
  readonly one: string | undefined;
  readonly many: string | undefined;
  readonly count: string | undefined;
  /** The schemas in an envelope by those of what they hold: the same object for the same schema. */
  readonly #ofOne = new WeakMap<TSchema, TSchema>();
  readonly #ofMany = new WeakMap<TSchema, TSchema>();
  readonly #ofWhole = new WeakMap<TSchema, TSchema>();

  /** @throws ImproperlyConfigured for names that do not fit together */
  constructor(owner: string, option: EnvelopeOption | null | undefined) {
    const names = option ?? {};
    checkOptions(`${owner}.envelope`, names, { one: TEXT, many: TEXT, count: TEXT });
    this.one = names.one;
    this.many = names.many;
    this.count = names.count;
    if (this.count !== undefined && this.many === undefined) {
      throw new ImproperlyConfigured(`${owner}.envelope: "count" needs "many", the member of the records`);
    }
    if (this.count === this.many && this.many !== undefined) {
      throw new ImproperlyConfigured(`${owner}.envelope: "many" and "count" are both "${this.many}"`);
    }
  }

  /** False if records stand by themselves. */
  get isUsed(): boolean {
    return this.one !== undefined || this.many !== undefined;
  }

  /** The names for the pages of lists; undefined if the paginator alone names them. */
  get list(): ListEnvelope | undefined {
    return this.many === undefined ? undefined : { many: this.many, count: this.count };
  }

  /** Puts one record into its member. */
  wrapOne(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return this.one === undefined ? record : { [this.one]: record };
  }

  /** Puts several records into their member. */
  wrapMany(records: readonly unknown[]): object {
    return this.many === undefined ? records : { [this.many]: records };
  }

  /** Puts a list without pages into its members. */
  wrapWhole(records: readonly unknown[]): object {
    const count = this.count === undefined ? {} : { [this.count]: records.length };
    return this.many === undefined ? records : { [this.many]: records, ...count };
  }

  schemaOfOne(record: TSchema): TSchema {
    const { one } = this;
    return one === undefined ? record : kept(this.#ofOne, record, () => Type.Object({ [one]: record }));
  }

  /** Makes the schema of several records; the same array for the same schema. */
  schemaOfMany(record: TSchema): TSchema {
    const { many } = this;
    return kept(this.#ofMany, record, () => inMember(many, Type.Array(record)));
  }

  /** Makes the schema of a list without pages. */
  schemaOfWhole(record: TSchema): TSchema {
    const { many, count } = this;
    if (many === undefined) return this.schemaOfMany(record);
    const counted = count === undefined ? {} : { [count]: Type.Integer({ minimum: 0, description: 'Records in all' }) };
    return kept(this.#ofWhole, record, () => Type.Object({ [many]: Type.Array(record), ...counted }));
  }

  /** Makes the schema of a body of one record, for documents. */
  bodyOfOne(body: TSchema): TSchema {
    return inMember(this.one, body);
  }

  /** Makes the schema of a body of several records, for documents. */
  bodyOfMany(body: TSchema): TSchema {
    return inMember(this.many, body);
  }

  /**
   * Takes a body out of its member.
   *
   * @throws InvalidUsage for a body that does not have it
   */
  open(body: unknown, { one: takesOne, several }: TakenBodies): Opened {
    const isSeveral =
      several &&
      (!takesOne || (this.many === undefined ? Array.isArray(body) : has(body, this.many) && !has(body, this.one)));
    const name = isSeveral ? this.many : this.one;
    if (name === undefined) return { body, path: '', isSeveral };
    const path = pointerStep(name);
    if (!isRecord(body)) {
      throw invalidInput('body', [{ path: '', message: `must be an object with the property "${name}"` }]);
    }
    if (!has(body, name)) throw invalidInput('body', [{ path, message: 'is required' }]);
    return { body: body[name], path, isSeveral };
  }
}

function has(body: unknown, name: string | undefined): boolean {
  return name !== undefined && isRecord(body) && Object.hasOwn(body, name);
}

function inMember(name: string | undefined, schema: TSchema): TSchema {
  return name === undefined ? schema : Type.Object({ [name]: schema });
}

function kept(schemas: WeakMap<TSchema, TSchema>, of: TSchema, make: () => TSchema): TSchema {
  const known = schemas.get(of) ?? make();
  schemas.set(of, known);
  return known;
}
