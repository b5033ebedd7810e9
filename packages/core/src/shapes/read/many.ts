import type { Primary } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { PathOf, Related, ToManyName, Unbranded } from '../../fields/field-name.ts';
import { isRecord } from '../../support/json.ts';
import { checkOptions, isListOf, type OptionRule, TEXT, wrongOption } from '../../errors/options.ts';
import type { OrderName } from '../../query/language/lookup-name.ts';
import { type AnyManyOptions, Many } from './many-field.ts';
import type { ReadShape } from './read-shape.ts';
import type { ToWire, WireValue } from '../wire-value.ts';

/** The options of `many()`. */
export interface ManyOptions<Child> {
  /**
   * The order of the related records: one or more names such as `title` or `author__name`, with a minus in front for descending. The
   * primary key is always the last key. Default: the order that the entity declares for the relation (`fixedOrder()`,
   * `orderBy`), or else the primary key.
   */
  readonly orderBy?: OrderName<Child> | readonly OrderName<Child>[];
  /** The most related records to show for one record: the first in their order. Default: all of them. */
  readonly limit?: number;
}

/** The options of `many()` for a field with another name than the relation. */
export interface ManyFromOptions<Child, From> extends ManyOptions<Child> {
  /** The relation. Default: the name of the field. */
  readonly from?: From;
}

/** A path through a to-many relation to a column of each related record. */
export type ManyPath<Entity> = {
  [Name in ToManyName<Entity>]: Name | `${Name}.${PathOf<Related<Entity, Name>, '.', 2, 'shown'>}`;
}[ToManyName<Entity>];

/**
 * The relation at the start of a path. Undefined for a shape, whose relation is the field's name or the option `from`.
 */
type RelationOf<Entity, Source, From> = Source extends string
  ? Extract<Source extends `${infer Head}.${string}` ? Head : Source, ToManyName<Entity>>
  : [From] extends [never]
    ? undefined
    : From;

/** A read shape of any entity. */
type Shape = Pick<ReadShape<object, object>, 'schema' | 'fields'>;

/** The entity of the related records. */
type ChildOf<Entity, Source> =
  Source extends ReadShape<infer Child, infer _Output>
    ? Child
    : Related<Entity, RelationOf<Entity, Source, never> & keyof Entity>;

/** The value of each related record in the response. */
type ItemOf<Entity, Source> =
  Source extends ReadShape<infer _Child, infer Output> ? Output : ManyValue<Entity, Source & string>;

/** The JSON value of each related record at the end of a path. If the path names only the relation, its primary key. */
type ManyValue<Entity, Path extends string> = Path extends keyof Entity
  ? ToWire<Unbranded<Primary<Related<Entity, Path>>>>
  : Path extends `${infer Head}.${infer Rest}`
    ? Head extends keyof Entity
      ? WireValue<Related<Entity, Head>, Rest>
      : never
    : never;

/**
 * Makes a field of a read shape with an array of the records of a to-many relation. A shape makes objects, a path makes
 * one value of each record. The array is empty if there are no records.
 *
 * Related records take one more statement for each relation and level, however many records a response has. The active
 * MikroORM filters of the related entity hide its records here too. Without `limit` all related records are sent. If
 * there may be very many, set `limit`, or make a separate list for them.
 *
 * Throws ImproperlyConfigured for an unknown or wrong option. `readShape` and the registration of the view throw it for
 * an unknown relation or order.
 *
 * @example
 * readShape(Author, ['id', 'name'], { books: many(readShape(Book, ['id', 'title']), { orderBy: 'title', limit: 50 }) });
 * // GET /authors/1 → {"id":1,"name":"Ada","books":[{"id":7,"title":"Ash"},{"id":5,"title":"Elm"}]}
 * readShape(Author, ['id'], { newest: many(readShape(Book, ['id'], { tags: many('tags.name') }), { from: 'books', orderBy: '-id', limit: 1 }) });
 * // GET /authors/1 → {"id":1,"newest":[{"id":7,"tags":["tree","wood"]}]}
 */
export function many<
  Entity,
  const Source extends ManyPath<Entity> | Shape,
  const From extends ToManyName<Entity> = never,
>(
  source: Source,
  options?: Source extends string
    ? ManyOptions<ChildOf<Entity, Source>>
    : ManyFromOptions<ChildOf<Entity, Source>, From>,
): Many<
  Entity,
  ChildOf<Entity, NoInfer<Source>>,
  ItemOf<Entity, NoInfer<Source>>,
  RelationOf<Entity, NoInfer<Source>, NoInfer<From>>
>;
export function many(source: ReadShape<object, object> | string, options: AnyManyOptions = {}): object {
  const isShape = typeof source === 'object' && source !== null && 'bind' in source;
  if (!isShape && !TEXT[1](source)) {
    throw wrongOption('many()', 'source', 'a readShape() of the related records or a path, first', source);
  }
  if (isRecord(options) && 'bind' in options) {
    const named = isShape ? '' : `; the relation ${JSON.stringify(source)} is the field's name, or the option "from"`;
    throw new ImproperlyConfigured(`many(): the readShape() must be the first argument: many(shape)${named}`);
  }
  checkOptions('many()', options, RULES);
  if (!isShape && options.from !== undefined) {
    throw wrongOption('many()', 'from', 'left out beside a path', options.from);
  }
  return new Many(source, options);
}

const RULES: Readonly<Record<keyof AnyManyOptions, OptionRule>> = {
  orderBy: ['a name or a list of names', (value) => TEXT[1](value) || isListOf(value, TEXT[1])],
  limit: ['a positive integer', (value) => Number.isSafeInteger(value) && (value as number) > 0],
  from: TEXT,
};
