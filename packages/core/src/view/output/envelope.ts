import { type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { isRecord, pointerStep } from '../../support/json.ts';
import { checkOptions, type OptionRule, TEXT } from '../../errors/options.ts';
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
  /**
   * The member of a list that holds the total number of records. Needs `many`. Default: a list with `many` has no
   * count.
   */
  readonly count?: string;
}

export const ENVELOPE_RULE: OptionRule = [
  'an object of "one", "many" and "count", or null',
  (value) => value === null || isRecord(value),
];

/** The body of a request without its envelope, and its JSON pointer. */
interface Opened {
  readonly body: unknown;
  readonly path: string;
  /** True if the body must be an array of bodies. */
  readonly isSeveral: boolean;
}

/** The bodies that a route accepts. */
export interface EnvelopedBodies {
  readonly one: boolean;
  readonly several: boolean;
}

/**
 * Wraps records in the members that the option `envelope` names, and unwraps bodies. Code within the view only sees the
 * records.
 */
export class Envelope {
  readonly one: string | undefined;
  readonly many: string | undefined;
  readonly count: string | undefined;
  /** The schemas with an envelope, by the schemas without it. The same schema gives the same object. */
  readonly #ofOne = new WeakMap<TSchema, TSchema>();
  readonly #ofMany = new WeakMap<TSchema, TSchema>();
  readonly #batchOption = new WeakMap<TSchema, TSchema>();

  /** @throws ImproperlyConfigured for names that conflict */
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

  /** False if records are not wrapped. */
  get isUsed(): boolean {
    return this.one !== undefined || this.many !== undefined;
  }

  /** The names for the pages of lists; undefined if only the paginator names them. */
  get list(): ListEnvelope | undefined {
    return this.many === undefined ? undefined : { many: this.many, count: this.count };
  }

  /** Wraps one record. */
  wrapOne(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return this.one === undefined ? record : { [this.one]: record };
  }

  /** Wraps several records. */
  wrapMany(records: readonly unknown[]): object {
    return this.many === undefined ? records : { [this.many]: records };
  }

  /** Wraps a list without pages. */
  wrapList(records: readonly unknown[]): object {
    const count = this.count === undefined ? {} : { [this.count]: records.length };
    return this.many === undefined ? records : { [this.many]: records, ...count };
  }

  schemaOfOne(record: TSchema): TSchema {
    const { one } = this;
    return one === undefined ? record : getOrMake(this.#ofOne, record, () => Type.Object({ [one]: record }));
  }

  /** Makes the schema of several records. The same schema gives the same array. */
  schemaOfMany(record: TSchema): TSchema {
    const { many } = this;
    return getOrMake(this.#ofMany, record, () => inMember(many, Type.Array(record)));
  }

  /** Makes the schema of a list without pages. */
  schemaOfEnvelope(record: TSchema): TSchema {
    const { many, count } = this;
    if (many === undefined) return this.schemaOfMany(record);
    const counted = count === undefined ? {} : { [count]: Type.Integer({ minimum: 0, description: 'Records in all' }) };
    return getOrMake(this.#batchOption, record, () => Type.Object({ [many]: Type.Array(record), ...counted }));
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
   * Unwraps a body.
   *
   * @throws InvalidUsage for a body without the member
   */
  open(body: unknown, { one: takesOne, several }: EnvelopedBodies): Opened {
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
