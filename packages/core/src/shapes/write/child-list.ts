import { type EntityMetadata, type EntityProperty, Utils } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { isRecord, pointerStep } from '../../json.ts';
import { MAX_PROBLEMS, placedAt, type Problem } from '../../schema/scan-input.ts';
import type { BodyMode, BoundChildren, BoundInput } from './bound-input.ts';
import { type ColumnRule, columnRule, readKey } from './column-rule.ts';
import { keyName, relatedMeta } from './relation-source.ts';
import { shapeField } from '../shape-field.ts';
import type { Nested } from './to-many-input.ts';

/** The children that a field of a body writes. */
class ChildList implements BoundChildren {
  readonly target: EntityMetadata;
  readonly owner: string;
  readonly key: string;
  readonly #nested: Nested<object, object>;
  readonly #keyRule: ColumnRule | undefined;
  #shape: BoundInput | undefined;

  constructor(target: EntityMetadata, owner: string, nested: Nested<object, object>) {
    this.target = target;
    this.owner = owner;
    this.key = keyName(target);
    this.#nested = nested;
    this.#keyRule = columnRule(shapeField(target, this.key));
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

  check(items: readonly unknown[], path: string, problems: Problem[], mode: BodyMode): unknown {
    if (mode !== 'create' && !this.#nested.update) return undefined;
    const named = new Set<string>();
    return items.map((item, index) => {
      if (problems.length >= MAX_PROBLEMS) return item;
      const place = `${path}/${index}`;
      const isThere = mode !== 'create' && isRecord(item) && Object.hasOwn(item, this.key);
      const { value, problems: found } = this.shape.inspect(item, isThere ? 'change' : 'create');
      if (found.length > 0) problems.push(...furtherProblems(problems, found, place));
      if (!isThere) return value;
      return {
        [this.key]: readKey(this.#keyRule, item[this.key], place + pointerStep(this.key), problems, named),
        ...(value as object),
      };
    });
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
 * @throws ImproperlyConfigured for a shape of another entity, and for a shape that could move a child to another
 * parent. Also for children that hold the key of their parent, because a new record does not have a key yet
 */
export function bindChildren(
  meta: EntityMetadata,
  name: string,
  mappedBy: string,
  nested: Nested<object, object>,
): BoundChildren {
  const target = relatedMeta(meta, name);
  const { className } = target;
  const given = Utils.className(nested.shape.entity);
  const holdsKey = (target.properties[mappedBy as never] as EntityProperty | undefined)?.mapToPk === true;
  if (holdsKey) {
    throw new ImproperlyConfigured(
      `${meta.className}: nested() cannot write "${name}", since "${mappedBy}" of ${className} has mapToPk: a new record has no key yet`,
    );
  }
  if (given === className) {
    if (!nested.shape.writes(mappedBy)) return new ChildList(target, mappedBy, nested);
    throw new ImproperlyConfigured(
      `${meta.className}: "${name}" writes children of the record, so their shape may not write "${mappedBy}", which leads to it`,
    );
  }
  throw new ImproperlyConfigured(
    `${meta.className}: "${name}" is a relation to ${className}, but its shape is of ${given}`,
  );
}
