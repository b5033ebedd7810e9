import { type EntityMetadata, type EntityProperty, ReferenceKind, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import {
  isPolymorphic,
  isReference,
  isToMany,
  isToOne,
  isUnique,
  onlyPrimaryKey,
  ownsColumn,
  targetOf,
} from '../../fields/property.ts';
import { isRecord, pointerStep } from '../../support/json.ts';
import { MAX_PROBLEMS, placedAt, type Problem } from '../../schema/scan-input.ts';
import type { Inspected } from '../../schema/validator.ts';
import type { BodyMode, BoundChildren, BoundInput } from './bound-input.ts';
import { type ColumnRule, columnRule, readKey } from './column-rule.ts';
import { shapeField } from '../shape-field.ts';
import type { Nested } from './to-many-input.ts';

type AnyNested = Nested<object, object>;

/** How nested records are tied to their parent. */
interface Tie {
  readonly target: EntityMetadata;
  readonly owner: string | undefined;
  readonly isShared: boolean;
}

/** The related records that a field of a body writes. */
abstract class Children implements BoundChildren {
  abstract readonly isOne: boolean;
  readonly target: EntityMetadata;
  readonly owner: string | undefined;
  readonly isShared: boolean;
  readonly key: string | undefined;
  protected readonly isUpdated: boolean;
  readonly #nested: AnyNested;
  readonly #keyRule: ColumnRule | undefined;
  #shape: BoundInput | undefined;

  constructor({ target, owner, isShared }: Tie, nested: AnyNested) {
    this.target = target;
    this.owner = owner;
    this.isShared = isShared;
    this.key = childKey(target);
    this.isUpdated = nested.update;
    this.#nested = nested;
    this.#keyRule = this.key === undefined ? undefined : columnRule(shapeField(target, this.key));
  }

  /** The shape of one child. It is bound on first use, after the ORM has discovered the entity. */
  get shape(): BoundInput {
    return (this.#shape ??= this.#bound());
  }

  #bound(): BoundInput {
    const shape = this.#nested.shape.bind(this.target);
    const file = shape.fields.find((field) => field.file !== undefined);
    if (file === undefined) return shape;
    throw new ImproperlyConfigured(
      `nested(): "${file.name}" of ${this.target.className} is a file, which children cannot have, because a form has files only for the record`,
    );
  }

  abstract check(value: unknown, path: string, problems: Problem[], mode: BodyMode): unknown;

  abstract inspectNew(item: object): Inspected | undefined;

  /** Validates an object, and reads the primary key of the child that it names, if it may name one. */
  protected inspectItem(
    item: unknown,
    place: string,
    problems: Problem[],
    mode: BodyMode,
    named: Set<string> | undefined,
  ): unknown {
    const { key } = this;
    const { value, problems: found } = this.shape.inspect(item, mode);
    if (found.length > 0) problems.push(...furtherProblems(problems, found, place));
    if (named === undefined || key === undefined || !isRecord(item)) return value;
    return {
      [key]: readKey(this.#keyRule, item[key], place + pointerStep(key), problems, named),
      ...(value as object),
    };
  }

  protected namesKey(item: unknown, mode: BodyMode): boolean {
    return mode !== 'create' && this.key !== undefined && isRecord(item) && Object.hasOwn(item, this.key);
  }
}

/** The children of a one-to-many relation. */
class ChildList extends Children {
  readonly isOne = false;

  override check(items: unknown, path: string, problems: Problem[], mode: BodyMode): unknown {
    if (mode !== 'create' && !this.isUpdated) return undefined;
    const named = new Set<string>();
    return (items as readonly unknown[]).map((item, index) => {
      if (problems.length >= MAX_PROBLEMS) return item;
      const isThere = this.namesKey(item, mode);
      return this.inspectItem(
        item,
        `${path}/${index}`,
        problems,
        isThere ? 'change' : 'create',
        isThere ? named : undefined,
      );
    });
  }

  override inspectNew(): undefined {
    return undefined;
  }
}

/** The record of a to-one relation. */
class ChildRecord extends Children {
  readonly isOne = true;
  /** The objects of updates as they were sent. Only the database knows if there is a record that they change. */
  readonly #sent = new WeakMap<object, unknown>();

  override check(item: unknown, path: string, problems: Problem[], mode: BodyMode): unknown {
    if (mode !== 'create' && !this.isUpdated) return undefined;
    const value = this.inspectItem(item, path, problems, mode, this.namesKey(item, mode) ? new Set() : undefined);
    if (mode !== 'create' && isRecord(value)) this.#sent.set(value, item);
    return value;
  }

  override inspectNew(item: object): Inspected | undefined {
    return this.#sent.has(item) ? this.shape.inspect(this.#sent.get(item), 'create') : undefined;
  }
}

/**
 * Adds the path of the child to its problems. Drops problems that the validation of the whole body has already found:
 * texts that no database stores.
 */
function furtherProblems(known: readonly Problem[], found: readonly Problem[], place: string): Problem[] {
  const places = new Set(known.map(({ path }) => path));
  return placedAt(place, found).filter(({ path }) => !places.has(path));
}

/**
 * Returns the name of the primary key by which an object may name a child. Undefined for a key of several columns, and
 * for a key that is a relation.
 */
export function childKey(target: EntityMetadata): string | undefined {
  const key = onlyPrimaryKey(target);
  return key === undefined || isReference(key) ? undefined : key.name;
}

/**
 * Finds how nested records are tied to their parent.
 *
 * @throws ImproperlyConfigured for a relation that `nested()` cannot write, and for options that do not fit it
 */
export function tieOf(meta: EntityMetadata, name: string, { options }: AnyNested): Tie & { readonly isOne: boolean } {
  const owner = `${meta.className}: nested() of "${name}"`;
  const property = meta.properties[name as never] as EntityProperty | undefined;
  const target = property !== undefined && isReference(property) ? targetOf(property) : undefined;
  if (property === undefined || target === undefined) {
    throw new ImproperlyConfigured(`${meta.className}: "${name}" is not a relation, so nested() cannot write it`);
  }
  const { kind, mappedBy } = property;
  const isOne = isToOne(property);
  if (options.max !== undefined && isOne) {
    throw new ImproperlyConfigured(
      `${owner} has the option "max", which is for lists; the relation leads to one record`,
    );
  }
  if (kind === ReferenceKind.MANY_TO_MANY) {
    throw new ImproperlyConfigured(
      `${meta.className}.${name} leads to many records: in writeShape() it is { ${name}: refs('${name}') }, or a hook of the view writes it`,
    );
  }
  if (isOne && isPolymorphic(property)) {
    throw new ImproperlyConfigured(`${owner} cannot write it, since it may lead to records of several entities`);
  }
  const isOfMany = kind === ReferenceKind.MANY_TO_ONE && !isUnique(meta, { ...property, name });
  if (isOfMany && options.shared !== true) {
    throw new ImproperlyConfigured(
      `${owner} would change a record that other records may refer to, since the relation is many-to-one; make it one-to-one, ` +
        'or accept this with nested(…, { shared: true }); to refer to an existing record, leave out nested()',
    );
  }
  if (options.shared !== undefined && !isOfMany) {
    throw new ImproperlyConfigured(
      `${owner} has the option "shared", which is for many-to-one relations; each of its records belongs to one ${meta.className}`,
    );
  }
  const held = ownsColumn(property) && isOne ? property : target.properties[mappedBy as never];
  if ((held as EntityProperty | undefined)?.mapToPk === true) {
    const holder = held === property ? `"${name}"` : `"${mappedBy}" of ${target.className}`;
    throw new ImproperlyConfigured(
      `${meta.className}: nested() cannot write "${name}", since ${holder} has mapToPk: a new record has no key yet`,
    );
  }
  return { target, isOne, isShared: isOfMany, owner: held === property ? undefined : mappedBy };
}

/**
 * @throws ImproperlyConfigured for a shape of another entity, and for a shape that could move a child to another
 * parent. Also for children that hold the key of their parent, because a new record does not have a key yet
 */
export function bindChildren(meta: EntityMetadata, name: string, nested: AnyNested): BoundChildren {
  const tie = tieOf(meta, name, nested);
  const { target, owner, isOne } = tie;
  const { className } = target;
  const given = Utils.className(nested.shape.entity);
  if (given !== className) {
    throw new ImproperlyConfigured(
      `${meta.className}: "${name}" is a relation to ${className}, but its shape is of ${given}`,
    );
  }
  const back = owner ?? inverseOf(meta, name);
  if (back !== undefined && nested.shape.writes(back)) {
    throw new ImproperlyConfigured(
      `${meta.className}: "${name}" writes ${isOne ? 'a record' : 'children'} of the record, so ${isOne ? 'its' : 'their'} shape may not write "${back}", which leads to it`,
    );
  }
  if (!isOne && onlyPrimaryKey(target) === undefined) {
    throw new ImproperlyConfigured(`${className} has no single primary key, so a list cannot refer to its records`);
  }
  return isOne ? new ChildRecord(tie, nested) : new ChildList(tie, nested);
}

/** Returns the property of the related record that leads back. Undefined if there is none. */
function inverseOf(meta: EntityMetadata, name: string): string | undefined {
  const property = meta.properties[name as never] as EntityProperty;
  const declared = property.inversedBy as unknown;
  const target = targetOf(property);
  const back = Object.entries<EntityProperty>(target?.properties ?? {}).find(
    ([, other]) => other.mappedBy === name && !isToMany(other) && targetOf(other)?.className === meta.className,
  );
  return typeof declared === 'string' ? declared : back?.[0];
}
