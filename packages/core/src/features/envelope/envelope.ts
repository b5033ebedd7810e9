import { type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { isRecord, pointerStep } from '../../support/json.ts';
import { checkOptions, TEXT } from '../../errors/options.ts';
import type { PageMemberNames } from '../../pagination/page-names.ts';
import { invalidInput } from '../../schema/error-details.ts';
import { type AcceptedBodies, type OpenedBody, RecordFormat } from '../../view/output/record-format.ts';

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

/** Wraps records in the members that the option `envelope` names, and unwraps bodies. */
export class Envelope extends RecordFormat {
  override readonly one: string | undefined;
  override readonly many: string | undefined;
  readonly #count: string | undefined;
  /** The schemas with an envelope, by the schemas without it. The same schema gives the same object. */
  readonly #ofOne = new WeakMap<TSchema, TSchema>();
  readonly #ofMany = new WeakMap<TSchema, TSchema>();
  readonly #ofList = new WeakMap<TSchema, TSchema>();

  /** @throws ImproperlyConfigured for names that conflict */
  constructor(owner: string, option: EnvelopeOption) {
    super();
    checkOptions(`${owner}.envelope`, option, { one: TEXT, many: TEXT, count: TEXT });
    const { one, many, count } = option;
    this.one = one;
    this.many = many;
    this.#count = count;
    if (count !== undefined && many === undefined) {
      throw new ImproperlyConfigured(`${owner}.envelope: "count" needs "many", the member of the records`);
    }
    if (count === many && many !== undefined) {
      throw new ImproperlyConfigured(`${owner}.envelope: "many" and "count" are both "${many}"`);
    }
  }

  override get pageNames(): PageMemberNames | undefined {
    return this.many === undefined ? undefined : { results: this.many, count: this.#count };
  }

  override wrapOne(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    return this.one === undefined ? record : { [this.one]: record };
  }

  override wrapMany(records: readonly unknown[]): object {
    return this.many === undefined ? records : { [this.many]: records };
  }

  override wrapList(records: readonly unknown[]): object {
    const count = this.#count === undefined ? {} : { [this.#count]: records.length };
    return this.many === undefined ? records : { [this.many]: records, ...count };
  }

  override schemaOfOne(record: TSchema): TSchema {
    return getOrMake(this.#ofOne, record, () => this.bodyOfOne(record));
  }

  override schemaOfMany(record: TSchema): TSchema {
    return getOrMake(this.#ofMany, record, () => this.bodyOfMany(super.schemaOfMany(record)));
  }

  override schemaOfList(record: TSchema): TSchema {
    const { many } = this;
    const count = this.#count;
    if (many === undefined || count === undefined) return this.schemaOfMany(record);
    const counted = { [count]: Type.Integer({ minimum: 0, description: 'Records in all' }) };
    return getOrMake(this.#ofList, record, () => Type.Object({ [many]: Type.Array(record), ...counted }));
  }

  override bodyOfOne(body: TSchema): TSchema {
    return inMember(this.one, body);
  }

  override bodyOfMany(bodies: TSchema): TSchema {
    return inMember(this.many, bodies);
  }

  override open(body: unknown, accepted: AcceptedBodies): OpenedBody {
    const { one, many } = this;
    // Without a member for several, an array is what tells them from one record.
    const isSeveral =
      accepted.several && accepted.one && many !== undefined
        ? has(body, many) && !has(body, one)
        : super.open(body, accepted).isSeveral;
    const name = isSeveral ? many : one;
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
