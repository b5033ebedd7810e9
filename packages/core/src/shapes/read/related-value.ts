import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { Fewer, Related, ToManyName, ToOneName } from '../../fields/field-name.ts';
import type { Lookups } from '../../query/language/lookup-name.ts';
import {
  type AnyRelatedConditions,
  type RelatedPath,
  relatedPath,
  type RelatedAggregate,
} from '../../query/language/related-path.ts';
import { isPlainRecord } from '../../support/json.ts';
import { TEXT, wrongOption } from '../../errors/options.ts';

/** A path to a to-many relation: `favoritedBy`, or `author.followers` through at most two to-one relations. */
export type ToManyPath<Entity, Hops extends number = 2> =
  | ToManyName<Entity>
  | (Hops extends keyof Fewer
      ? { [Name in ToOneName<Entity>]: `${Name}.${ToManyPath<Related<Entity, Name>, Fewer[Hops]>}` }[ToOneName<Entity>]
      : never);

/** The entity at the end of a path of relations. */
type EntityAt<Entity, Path> = Path extends keyof Entity
  ? Related<Entity, Path>
  : Path extends `${infer Head}.${infer Rest}`
    ? Head extends keyof Entity
      ? EntityAt<Related<Entity, Head>, Rest>
      : never
    : never;

/**
 * The conditions on related records: lookups, or a function of the request that returns lookups. If it returns null or undefined, no record
 * matches.
 */
export type RelatedConditions<Target> =
  | Lookups<Target>
  | ((request: FastifyRequest) => Lookups<Target> | null | undefined);

/** A value computed from a record's related records. Made by `exists()` and `count()`. */
export class RelatedValue<Entity, Value> {
  readonly aggregate: RelatedAggregate;
  /** @internal */
  readonly way: string;
  /** @internal */
  readonly conditions: AnyRelatedConditions;
  /** Only for the types. */
  declare readonly entity?: (entity: Entity) => void;
  declare readonly value?: Value;

  /** @internal */
  constructor(aggregate: RelatedAggregate, way: string, conditions: AnyRelatedConditions) {
    if (!TEXT[1](way)) throw wrongOption(`${aggregate}()`, 'path', 'the path of a relation to many, first', way);
    if (conditions !== undefined && typeof conditions !== 'function' && !isPlainRecord(conditions)) {
      throw wrongOption(`${aggregate}()`, 'conditions', 'lookups or a function of the request, second', conditions);
    }
    this.aggregate = aggregate;
    this.way = way;
    this.conditions = conditions;
  }

  /**
   * @internal
   * @param prefix the path to the entity with the relation, with a dot at its end
   */
  pathFrom(meta: EntityMetadata, prefix = ''): RelatedPath {
    return relatedPath(meta, prefix + this.way, this.aggregate, this.conditions);
  }
}

/**
 * Makes a boolean of a read shape: true if a related record meets the conditions. The statement that reads the record
 * also reads this value. The active MikroORM filters of the related entity hide its records here too.
 *
 * If the conditions depend on the request, for example on its user, pass a function. If it returns undefined or null,
 * no record matches and the field is false. You can also use the value in a view's `filterFields` and `orderingFields`.
 *
 * Throws ImproperlyConfigured for wrong arguments. `readShape` and the registration of the view throw it for an unknown
 * relation or lookup.
 *
 * @example
 * readShape(Author, ['id'], {
 *   published: exists('books'),
 *   mine: exists('books', (request) => {
 *     const user = getCurrentUser(request);
 *     return user && { tags__name: String(user.id) };
 *   }),
 * });
 * // GET /authors/1 → {"id":1,"published":true,"mine":true}; without a user {"id":1,"published":true,"mine":false}
 * // select t0."id" as c0, exists (select 1 from "book" t1 where t1."author_id" = t0."id") as c1, … from "author" t0 …
 */
export function exists<Entity, const Path extends ToManyPath<Entity>>(
  path: Path,
  conditions?: RelatedConditions<EntityAt<Entity, NoInfer<Path>>>,
): RelatedValue<Entity, boolean> {
  return new RelatedValue('exists', path, conditions);
}

/**
 * Makes an integer of a read shape: the number of related records that meet the conditions, or of all without
 * conditions. It is read, filtered and ordered like `exists()`. If a function of the request returns undefined or null,
 * the number is 0.
 *
 * Throws ImproperlyConfigured like `exists()`.
 *
 * @example
 * readShape(Author, ['id'], { books: count('books'), on_tea: count('books', { tags__name: 'tea' }) });
 * // GET /authors/1 → {"id":1,"books":12,"on_tea":3}
 * // select t0."id" as c0, (select count(*) from "book" t1 where t1."author_id" = t0."id") as c1, … from "author" t0 …
 */
export function count<Entity, const Path extends ToManyPath<Entity>>(
  path: Path,
  conditions?: RelatedConditions<EntityAt<Entity, NoInfer<Path>>>,
): RelatedValue<Entity, number> {
  return new RelatedValue('count', path, conditions);
}
