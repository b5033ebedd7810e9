import type { EntityMetadata } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldType } from '../../fields/field-kind.ts';
import { fieldPath, findFieldPath, type FieldPath, splitAtMany } from '../../fields/field-path.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import { parseFieldText } from '../../fields/field-value.ts';
import { valueProperty } from '../../fields/property.ts';
import { getOrMake } from '../../support/get-or-make.ts';
import { isPlainRecord } from '../../support/json.ts';
import { nearest } from '../../errors/nearest.ts';
import { describe } from '../../errors/options.ts';
import { compare } from './compare.ts';
import { and, type Condition, some } from './condition.ts';
import { LOOKUPS, lookupsFor, type Lookup, operandOf, type Operands } from './lookup.ts';

/** A lookup with validated names. */
export interface ResolvedLookup {
  readonly path: FieldPath;
  readonly lookup: Lookup;
}

const known = new WeakMap<EntityMetadata, Map<string, ResolvedLookup>>();

/**
 * Resolves a lookup such as `role__name__icontains`. Without a lookup at the end, a name means `exact`.
 * @throws ImproperlyConfigured for an unknown name, and for a lookup that does not fit the field's type
 */
export function resolveLookup(meta: EntityMetadata, name: string): ResolvedLookup {
  const lookups = getOrMake(known, meta, () => new Map<string, ResolvedLookup>());
  return getOrMake(lookups, name, () => resolve(meta, name));
}

function resolve(meta: EntityMetadata, name: string): ResolvedLookup {
  // A field may have the name "range". Fields take precedence.
  const exactPath = findFieldPath(meta, name, '__');
  if (typeof exactPath !== 'string') return fitting(meta, name, exactPath, 'exact');
  const cut = name.lastIndexOf('__');
  if (cut <= 0) throw new ImproperlyConfigured(exactPath);
  const last = name.slice(cut + 2);
  const path = fieldPath(meta, name.slice(0, cut), '__');
  if (isLookup(last)) return fitting(meta, name, path, last);
  throw unknownLookup(meta, name, path, last, exactPath);
}

/** @throws ImproperlyConfigured for a lookup that does not fit the type of the field */
export function fitting(meta: EntityMetadata, name: string, path: FieldPath, lookup: Lookup): ResolvedLookup {
  if (lookupsFor(path.type).includes(lookup)) return Object.freeze({ path, lookup });
  throw new ImproperlyConfigured(
    `${meta.className}: "${name}" does not fit: "${path.key}" is of type ${typeName(path)}, ` +
      `which has no "${lookup}"; it has: ${lookupsFor(path.type).join(', ')}`,
  );
}

/** Returns the kind of a field, or its column type if that has fewer lookups than the kind. */
function typeName({ type, property }: FieldPath): string {
  return type.lacks === undefined ? type.kind : valueProperty(property).columnTypes[0]!;
}

function isLookup(name: string): name is Lookup {
  return (LOOKUPS as readonly string[]).includes(name);
}

function unknownLookup(
  meta: EntityMetadata,
  name: string,
  path: FieldPath,
  last: string,
  problem: string,
): ImproperlyConfigured {
  // A name after a relation may have been meant as a field of the related entity.
  if (path.property.targetMeta !== undefined) return new ImproperlyConfigured(problem);
  const lookups = lookupsFor(path.type);
  const near = nearest(last, lookups);
  return new ImproperlyConfigured(
    `${meta.className}: "${name}" ends in no lookup: "${path.key}" is of type ${typeName(path)}, which has no "${last}"` +
      `${near === undefined ? '' : ` (did you mean "${near}"?)`}; it has: ${lookups.join(', ')}`,
  );
}

/**
 * Makes a condition for the records that match all lookups. Lookups through the same to-many relation apply to the same
 * related record.
 * @throws ImproperlyConfigured for a name that is not a lookup of the entity; FieldValueError for a value of another
 * type
 */
export function lookupCondition(meta: EntityMetadata, lookups: Readonly<Record<string, unknown>>): Condition {
  if (!isPlainRecord(lookups)) {
    throw new ImproperlyConfigured(`${meta.className}: lookups are values by name, got ${describe(lookups)}`);
  }
  return allOf(Object.entries(lookups).map(([name, value]) => ({ ...resolveLookup(meta, name), value })));
}

interface RequestedLookup extends ResolvedLookup {
  readonly value: unknown;
}

function allOf(lookups: readonly RequestedLookup[]): Condition {
  const groups = Map.groupBy(lookups, ({ path }) =>
    splitAtMany(path)
      ?.steps.map(({ name }) => name)
      .join('.'),
  );
  return and(...[...groups.values()].map(ofGroup));
}

/** Combines lookups through the same to-many relation, or through none. */
function ofGroup(lookups: readonly RequestedLookup[]): Condition {
  const each = lookups.map(({ path, lookup, value }) => compare(path, lookup, value));
  const steps = splitAtMany(lookups[0]!.path)?.steps;
  // A condition that is not a comparison says that no related record matches, so it needs no common record.
  const needsOne = each.length > 1 && each.some(({ kind }) => kind === 'compare');
  if (steps === undefined || !needsOne) return and(...each);
  return some(steps, allOf(lookups.map((lookup) => ({ ...lookup, path: splitAtMany(lookup.path)!.rest }))));
}

/**
 * Makes a condition from the text of a query parameter. `in` takes values separated by commas, `range` two of them,
 * `isnull` and `isempty` true or false, `date` a day.
 * @throws FieldValueError if the text does not fit
 */
export function parseLookupText(resolved: ResolvedLookup, text: string): Condition {
  const operand = operandOf(resolved.lookup, resolved.path.type);
  return parseLookupTexts(resolved, operand === 'list' || operand === 'bounds' ? text.split(',') : [text]);
}

/**
 * Makes a condition from the texts of a query parameter: the values of `in`, the two of `range`, or the only one of other
 * lookups.
 * @throws FieldValueError if a text does not fit
 */
export function parseLookupTexts({ path, lookup }: ResolvedLookup, texts: readonly string[]): Condition {
  return compare(path, lookup, parseOperand(path.type.element ?? path.type, operandOf(lookup, path.type), texts));
}

function parseOperand(type: FieldType, operand: keyof Operands<unknown>, texts: readonly string[]): unknown {
  switch (operand) {
    case 'value':
      return parseFieldText(type, texts[0]!);
    case 'day':
      return parseFieldText({ kind: 'date' }, texts[0]!);
    case 'boolean':
      return parseFieldText({ kind: 'boolean' }, texts[0]!);
    case 'list':
    case 'bounds':
      if (operand === 'bounds' && texts.length !== 2) {
        throw new FieldValueError('must be two values, separated by a comma');
      }
      return texts.map((text) => parseFieldText(type, text));
  }
}
