import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import type { Awaitable } from '../support/awaitable.ts';
import type { QuerySet } from '../query/queryset.ts';

/** The view that a search is for. */
export interface SearchedView {
  /** The name of the view's class, for messages. */
  readonly name: string;
  readonly meta: EntityMetadata;
  /** The global entity manager of the ORM, to look up metadata and the database. */
  readonly em: EntityManager;
  /** The kind of database, as in `QuerySet.database`. */
  readonly database: string;
}

/** The settings of the `SearchFilter`. */
export interface SearchLimits {
  /** The name of the query parameter. */
  readonly parameter: string;
  /** The most words. More give 400. */
  readonly maximumWords: number;
}

/** The search of one view. */
export interface ViewSearch {
  /** The paths of the searched fields, with `__`, for programs that check an application. */
  readonly fields: readonly string[];
  /**
   * The names of the columns, indexes, tables and triggers that it creates in the database, besides those of entities.
   * Default: none.
   */
  readonly keeps?: readonly string[];
  /** Describes the parameter `?search=` for clients, in documents. */
  describe(limits: SearchLimits): string;
  /**
   * Narrows a query set to the records that match a text, and orders it by rank. `?sort=` replaces the order. It may
   * return a promise, to call a search engine first.
   *
   * @throws InvalidUsage (400) for a rejected text
   */
  search<E extends object>(
    queryset: QuerySet<E>,
    text: string,
    limits: SearchLimits,
    request: FastifyRequest,
  ): Awaitable<QuerySet<E>>;
  /**
   * Checks, when the application starts, that the database can search. Leave it out if there is nothing to check.
   *
   * @throws ImproperlyConfigured which says what is missing
   */
  check?(): Promise<void>;
}

/**
 * A search instead of a list of `searchFields`: `fullText()` of `@viewset/full-text`, or your own, which calls a search
 * engine. Without a type argument it fits every entity.
 *
 * @example
 * const engine: TextSearch<Book> = {
 *   forView: () => ({
 *     fields: ['title'],
 *     describe: () => 'Words to look for',
 *     search: async (queryset, text) => {
 *       const answer = await fetch(`http://search.internal/books?q=${encodeURIComponent(text)}`);
 *       const ids = (await answer.json()) as number[];
 *       return queryset.where(compare(fieldPath(queryset.meta, 'id', '.'), 'in', ids));
 *     },
 *   }),
 * };
 * class BookViewSet extends ModelViewSet(Book, { read: readShape(Book, ['id']), searchFields: engine }) {}
 */
export interface TextSearch<Entity = unknown> {
  /**
   * Makes the search of a view, when the view is registered.
   *
   * @throws ImproperlyConfigured for fields that do not fit the entity
   */
  forView(view: SearchedView): ViewSearch;
  /** Only for the types. */
  readonly entity?: (entity: Entity) => void;
}

/** Reports whether a value is a search and not a list of fields. */
export function isTextSearch(value: unknown): value is TextSearch<never> {
  return typeof (value as Partial<TextSearch<never>> | null)?.forView === 'function';
}
