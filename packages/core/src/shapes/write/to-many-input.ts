import type { EntityMetadata, EntityName } from '@mikro-orm/core';
import type { PrimaryKeyName } from '../../mikro/entities.ts';
import { BOOLEAN, checkOptions, POSITIVE, wrongOption } from '../../errors/options.ts';
import type { Flat, WireValue } from '../wire-value.ts';
import type { BodySchemas, BoundInput } from './bound-input.ts';

/** The default for the most references in a list. */
export const DEFAULT_MAX_REFERENCES = 1000;
const DEFAULT_MAX_CHILDREN = 100;

/** A field of a write shape with a list of references that replaces the set of a relation. Made by `refs`. */
export class Refs<Path extends string = string> {
  readonly path: Path;
  readonly max: number;
  readonly create: boolean;

  constructor(path: Path, max: number, create: boolean) {
    this.path = path;
    this.max = max;
    this.create = create;
  }
}

/** The options of `refs`. */
interface RefsOptions {
  readonly max?: number;
  readonly create?: boolean;
}

/**
 * Writes a many-to-many relation as a list that replaces the set. `[]` empties the set; a PATCH without the field keeps
 * it. If the path is the relation, the list has primary keys. If the path ends in a unique field of the related
 * records, the list has values of that field. Duplicates are stored once. An unknown record gives 400 with its
 * position, `/tags/2`. One statement looks up all records.
 *
 * `max` is the most references in a list; default: 1,000. With `create: true`, a missing record is created from its
 * unique field, in the transaction of the write. If several requests create the same record at once, they share it. The
 * view fails at registration if a new record needs more fields. Default: false.
 *
 * Throws ImproperlyConfigured for wrong options. A path that is not a to-many relation of the entity does not compile.
 *
 * @example
 * writeShape(Book, ['title'], { tags: refs('tags.name', { max: 20 }) });
 * // PATCH /books/7 {"tags":["new","used"]}
 */
export function refs<const Path extends string>(path: Path, options: RefsOptions = {}): Refs<Path> {
  if (typeof path !== 'string' || path === '') throw wrongOption('refs()', 'path', 'the path of a relation', path);
  checkOptions(`refs('${path}')`, options, { max: POSITIVE, create: BOOLEAN });
  return new Refs(path, options.max ?? DEFAULT_MAX_REFERENCES, options.create ?? false);
}

/** The write shape of a child. */
interface ChildShape<Child extends object, Input extends object> extends BodySchemas {
  readonly entity: EntityName<Child>;
  /** Only for the types. */
  readonly input?: Input;
  /** Reports whether a field of the shape writes a property. */
  writes(property: string): boolean;
  bind(meta: EntityMetadata): BoundInput;
}

/** The options of `nested`. */
interface NestedOptions<Update extends boolean> {
  readonly max?: number;
  readonly update?: Update;
  readonly shared?: boolean;
}

/** A field of a write shape with the related records themselves: a list of objects, or one. Made by `nested`. */
export class Nested<Child extends object, Input extends object, Update extends boolean = boolean> {
  readonly shape: ChildShape<Child, Input>;
  readonly max: number;
  readonly update: Update;
  /** The options as they were given. */
  readonly options: NestedOptions<Update>;

  constructor(shape: ChildShape<Child, Input>, options: NestedOptions<Update>) {
    this.shape = shape;
    this.max = options.max ?? DEFAULT_MAX_CHILDREN;
    this.update = (options.update ?? false) as Update;
    this.options = options;
  }
}

/**
 * Writes related records by objects with their own write shape: the children of a record (a one-to-many relation) as a
 * list, or the record of a one-to-one relation, from either side. A POST creates all of them, in one transaction with the
 * record. Shapes can be nested. Errors have the position of the value, `/books/3/title` or `/profile/bio`.
 *
 * With `update: true`, PUT and PATCH accept the field too. By default they drop it like any unknown field.
 *
 * - A list: an object with the primary key of a child changes that child. An object without one creates a child. A child
 *   that is not in the list is deleted. `max` is the most objects in a list; default: 100.
 * - One record: the object changes the record that is there, or creates it. PATCH merges, PUT needs a complete object. null
 *   deletes the record; it gives 400 if the relation is not nullable. A primary key in the object must be that of the
 *   record that is there, so an object can never take over a record of somebody else.
 *
 * `shared: true` is required for a many-to-one relation, because other records may refer to the same record. The object
 * then changes it for all of them, and null only ends the relation. Default: false.
 *
 * Throws ImproperlyConfigured for wrong options. A relation that does not fit the shape or the options fails in
 * `writeShape()`.
 *
 * @example
 * const book = writeShape(Book, ['title']);
 * writeShape(Author, ['name'], { books: nested(book, { max: 20, update: true }) });
 * // PATCH /authors/7 {"books":[{"id":3,"title":"Ash"},{"title":"Birch"}]}
 *
 * // profile: () => p.oneToOne(Profile).mappedBy('user')
 * // writeShape(User, ['name'], { profile: nested(writeShape(Profile, ['bio']), { update: true }) });
 * // PATCH /users/7 {"profile":{"bio":"Counts"}}
 */
export function nested<Child extends object, Input extends object, const Update extends boolean = false>(
  shape: ChildShape<Child, Input>,
  options: NestedOptions<Update> = {},
): Nested<Child, Input, NoInfer<Update>> {
  const isShape = typeof shape === 'object' && (shape as unknown) !== null && 'bind' in shape;
  if (!isShape) throw wrongOption('nested()', 'shape', 'a writeShape()', shape);
  checkOptions('nested()', options, {
    max: POSITIVE,
    update: BOOLEAN,
    shared: BOOLEAN,
  });
  return new Nested(shape, options);
}

/** The object of one nested record. The bodies of PUT and PATCH are marked, only for the types. */
export type NestedRecord<Child, Input, Update> = Input & {
  readonly '~nested'?: true extends Update
    ? { readonly replace: Input & NamedKey<Child>; readonly change: Flat<Partial<Input> & NamedKey<Child>> }
    : { readonly replace: Input; readonly change: Partial<Input> };
};

/** The primary key of the record that is there, which an object of an update may have. */
type NamedKey<Child> = { [Key in PrimaryKeyName<Child> & string]?: WireValue<Child, Key> };

/** The objects of a nested list. With `update`, an object may name an existing child by its primary key. */
export type NestedItem<Child, Input, Update> = true extends Update
  ? Input | Flat<Partial<Input> & { [Key in PrimaryKeyName<Child> & string]: WireValue<Child, Key> }>
  : Input;
