import { type EntityMetadata, type EntityProperty, type MikroORM, ReferenceKind } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { isAbstract, isDiscriminator, isToOne, ownsColumn } from '../../fields/property.ts';
import { hasCustomCode } from '../../mikro/entity-code.ts';
import { hasSubscriber } from '../../mikro/subscribers.ts';
import type { BoundInput, Reference } from '../../shapes/write/bound-input.ts';
import { shapeField } from '../../shapes/shape-field.ts';
import { canBeLeftOut } from '../../shapes/write/write-shape.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';

/** The declarations of a view that decide the values of a new record. */
interface Creation {
  readonly name: string;
  readonly orm: MikroORM;
  readonly meta: EntityMetadata;
  /** The bodies of new records. */
  readonly input: BoundInput;
  /** The fields that the path of a nested view sets. */
  readonly filled: readonly string[];
  readonly overrides: ViewOverrides;
}

/**
 * Explains why no new record can be stored, or only if a client sends an optional field. Each column needs a value from
 * the body, `performCreate`, the entity or the database. Code that may set the column and cannot be inspected (a hook,
 * a subscriber, the entity's class) is trusted.
 *
 * @returns a message that names the columns without a value; undefined if there are none
 */
export function faultOfCreation(creation: Creation): string | undefined {
  const { overrides, input } = creation;
  if (overrides.handles.create || overrides.performs.create) return undefined;
  return faultOfRecord(creation) ?? faultOfChildren(creation, input);
}

/**
 * Checks references that create missing records. A record that is created this way has only the value of one field.
 *
 * @throws ImproperlyConfigured that names the required columns without a value
 */
export function checkCreatedReferences(name: string, orm: MikroORM, references: ReadonlyMap<string, Reference>): void {
  for (const [field, { target, key, creates }] of references) {
    if (!creates) continue;
    if (isAbstract(target)) {
      throw new ImproperlyConfigured(
        `${name}: refs('${field}.${key}') cannot create a ${target.className}, since the class is abstract; leave out "create"`,
      );
    }
    if (isFilledByCode(orm, target)) continue;
    const missing = missingColumns(target, new Set([key]));
    if (missing === '') continue;
    throw new ImproperlyConfigured(
      `${name}: refs('${field}.${key}') cannot create a ${target.className}, which needs ${missing} as well; give them a default, or leave out "create"`,
    );
  }
}

function faultOfChildren(creation: Omit<Creation, 'meta' | 'filled'>, { fields }: BoundInput): string | undefined {
  for (const { children } of fields) {
    if (children === undefined) continue;
    const { target: meta, owner, shape } = children;
    const fault =
      faultOfRecord({ ...creation, meta, input: shape, filled: owner === undefined ? [] : [owner] }) ??
      faultOfChildren(creation, shape);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function faultOfRecord({ name, orm, meta, input: { schema, fields }, filled }: Creation): string | undefined {
  if (isAbstract(meta)) {
    return (
      `${name}: a new ${meta.className} cannot be stored, since the class is abstract: make a view of each class that extends it, ` +
      `or leave out "create": operations: ['list', 'retrieve', 'update', 'destroy']`
    );
  }
  if (isFilledByCode(orm, meta)) return undefined;
  const isSent = (field: string): boolean => {
    const { default: value } = schema.properties[field] as { default?: unknown };
    return value !== undefined || (schema.required ?? []).includes(field);
  };
  const sent = new Set([...fields.filter(({ sentAs }) => isSent(sentAs)).map((field) => field.name), ...filled]);
  const missing = missingColumns(meta, sent);
  if (missing === '') return undefined;
  return (
    `${name}: a new ${meta.className} cannot be stored without ${missing}: a client need not send it in the write shape, it has no ` +
    `default, and the view overrides no performCreate that could fill it in`
  );
}

/**
 * True if code that cannot be inspected may set a column. Without `validateRequired`, MikroORM leaves it to the
 * database, and a trigger may set it.
 */
function isFilledByCode(orm: MikroORM, meta: EntityMetadata): boolean {
  return (
    !orm.config.get('validateRequired') ||
    hasCustomCode(meta) ||
    hasSubscriber(orm.em.getEventManager(), meta, 'create')
  );
}

/** Lists the required columns without a value, for a message. Empty if there are none. */
function missingColumns(meta: EntityMetadata, filled: ReadonlySet<string>): string {
  const missing = meta.props.filter((property) => !filled.has(property.name) && needsValue(meta, property));
  return missing.map((property) => `"${property.name}"`).join(', ');
}

function needsValue(meta: EntityMetadata, property: EntityProperty): boolean {
  const { kind, name, persist, formula, generated, embedded } = property;
  if (persist === false || formula !== undefined || generated !== undefined || embedded !== undefined) return false;
  if (isDiscriminator(meta, name)) return false;
  const isColumn = kind === ReferenceKind.SCALAR || (isToOne(property) && ownsColumn(property));
  return isColumn && !canBeLeftOut(shapeField(meta, name));
}
