import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { type TSchema, Type } from 'typebox';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { plainDecimal, shortDecimal, toScale } from '../../fields/decimal-text.ts';
import { findPlace, type FieldPlace } from '../../fields/field-path.ts';
import {
  discriminatorMessage,
  isAddedInverse,
  isDiscriminator,
  isEmbeddable,
  isInlineEmbeddable,
  isToMany,
  isToOne,
  isUnique,
  ownsColumn,
  referredKey,
  targetOf,
} from '../../fields/property.ts';
import { FieldValueError } from '../../fields/field-value-error.ts';
import type { FileField } from '../../files/file-field.ts';
import { isFile } from '../../files/file-type.ts';
import { isNamedUpload } from '../../files/direct-uploads.ts';
import { PendingFile } from '../../files/pending-file.ts';
import { isFileLink, SentLink } from '../../files/sent-link.ts';
import { pointerStep } from '../../support/json.ts';
import type { Problem, RoundedNumber } from '../../schema/scan-input.ts';
import type { BodyMode, BoundField } from './bound-input.ts';
import { bindChildren } from './children.ts';
import { applyRule, type ColumnRule, columnRule } from './column-rule.ts';
import { withDefaults } from './embedded-parts.ts';
import { checkWritable } from '../json-types.ts';
import { metaOf } from '../../mikro/entities.ts';
import { type FieldSources, isNullableRecord, keyName, relatedMeta, type RelationSource } from './relation-source.ts';
import type { Nested } from './to-many-input.ts';
import { type ObjectSchema, objectIn } from '../schema-object.ts';
import { type ShapeField, shapeField } from '../shape-field.ts';
import { columnBounds } from '../wire-format.ts';
import { defaultOf } from '../../mikro/json-default.ts';

/**
 * Replaces the sent value in `values` by the value for the column. If the column cannot hold it, adds to `problems`.
 */
export function checkField(
  field: BoundField,
  values: Record<string, unknown>,
  problems: Problem[],
  mode: BodyMode,
): void {
  const { name, path, nullable, rule, parts, reference, children } = field;
  if (!Object.hasOwn(values, name) || isAtFault(path, problems)) return;
  const json = values[name];
  if (json === null) {
    if (!nullable) problems.push({ path, message: 'must not be null' });
  } else if (children !== undefined) {
    values[name] = children.check(json, path, problems, mode);
  } else if (reference?.isMany === true || field.listed === true) {
    if (!Array.isArray(json)) problems.push({ path, message: 'must be an array' });
    else values[name] = applyToEach(rule, json, path, problems);
  } else if (parts !== undefined) {
    values[name] =
      field.isList === true ? checkItems(parts, json, path, problems) : checkParts(parts, json, problems, mode);
  } else if (field.file !== undefined && mode !== 'create' && isFileLink(json)) {
    values[name] = new SentLink(json);
  } else if (rule !== undefined && !isFaulty(path, problems)) {
    values[name] = applyRule(rule, json, path, problems);
  }
}

function applyToEach(
  rule: ColumnRule | undefined,
  items: readonly unknown[],
  path: string,
  problems: Problem[],
): unknown[] {
  return items.map((item, index) => {
    const place = `${path}/${index}`;
    return isAtFault(place, problems) ? undefined : applyRule(rule, item, place, problems);
  });
}

function checkParts(parts: readonly BoundField[], json: unknown, problems: Problem[], mode: BodyMode): unknown {
  const inner = { ...(json as Record<string, unknown>) };
  for (const part of parts) checkField(part, inner, problems, mode);
  return mode === 'change' ? inner : withDefaults(parts, inner);
}

/** Checks the parts of each embeddable in a list, which are all new. Their paths are below the path of the list. */
function checkItems(parts: readonly BoundField[], json: unknown, path: string, problems: Problem[]): unknown {
  return (json as readonly unknown[]).map((item, index) => {
    const place = `${path}/${index}`;
    if (isAtFault(place, problems) || item === null) return item;
    return checkParts(
      parts.map((part) => ({ ...part, path: place + part.path })),
      item,
      problems,
      'create',
    );
  });
}

/** Reports whether a part of a value has a problem. */
function isFaulty(path: string, problems: readonly Problem[]): boolean {
  return problems.some((problem) => problem.path.startsWith(`${path}/`));
}

function isAtFault(path: string, problems: readonly Problem[]): boolean {
  return problems.some((problem) => problem.path === path);
}

type BoundColumn = Omit<BoundField, 'name' | 'sentAs' | 'path'>;

/**
 * Finds the columns of the fields in a schema. Works before and after the ORM has discovered the entity.
 *
 * @param embeddable the field that contains these fields. Its key is empty if one column holds the whole embeddable;
 * `meta` is then the embeddable's own
 * @throws ImproperlyConfigured if a field cannot be written, or if its schema and its column never fit each other
 */
export function bindFields(
  meta: EntityMetadata,
  { properties }: ObjectSchema,
  sources: FieldSources,
  embeddable?: { readonly key: string; readonly path: string },
): BoundField[] {
  return Object.entries<TSchema>(properties).map(([sentAs, schema]) => {
    const { property: name, relation } = sources.get(sentAs) ?? { property: sentAs, relation: undefined };
    const key = (embeddable?.key ?? '') === '' ? name : `${embeddable!.key}.${name}`;
    const path = `${embeddable?.path ?? ''}${pointerStep(sentAs)}`;
    const column = bindColumn(meta, key, path, schema, relation);
    const ofPart = embeddable === undefined ? {} : bindPart(meta, key, schema, column);
    return { name, sentAs, path, ...column, ...ofPart };
  });
}

/** Finds the value of a part that a new embeddable does not have. */
function bindPart(
  meta: EntityMetadata,
  key: string,
  schema: TSchema,
  { nullable, rule, parts }: BoundColumn,
): Pick<BoundField, 'isRequired' | 'whenAbsent'> {
  const { property } = findPlace(meta, key, '.') as FieldPlace;
  const isOptional = Type.IsOptional(schema) || 'default' in schema;
  const given = 'default' in schema ? schema.default : defaultOf(property);
  if (given !== undefined && given !== null) {
    const problems: Problem[] = [];
    const value = parts === undefined ? applyRule(rule, given, '', problems) : given;
    // The database reads other texts, such as `now()`.
    if (problems.length > 0 && typeof given === 'string') return { isRequired: !isOptional };
    return { isRequired: !isOptional, whenAbsent: () => structuredClone(problems.length > 0 ? given : value) };
  }
  const isMade = property.onCreate !== undefined || (given === undefined && property.defaultRaw !== undefined);
  const isNull = (isInlineEmbeddable(property) ? property.nullable === true : nullable) && !isMade;
  return { isRequired: !isOptional, whenAbsent: isNull ? () => null : undefined };
}

function bindColumn(
  meta: EntityMetadata,
  key: string,
  path: string,
  schema: TSchema,
  source: RelationSource | undefined,
): BoundColumn {
  const place = findPlace(meta, key, '.');
  if (typeof place === 'string') throw new ImproperlyConfigured(place);
  const { property } = place;
  if (source?.kind === 'nested') return bindNested(meta, key, property, source.nested);
  checkWritableProperty(`${meta.className}.${key}`, property);
  if (isDiscriminator(meta, key)) throw new ImproperlyConfigured(discriminatorMessage(meta, key));
  if (isToMany(property)) return bindToMany(meta, key, property, source);
  const naturalKey = source?.kind === 'one' ? source.key : undefined;
  if (source !== undefined && source.kind !== 'file' && naturalKey === undefined) relatedMeta(meta, key);
  if (isInlineEmbeddable(property)) {
    const object = objectIn(schema);
    return { nullable: true, parts: object && bindFields(meta, object, new Map(), { key, path }) };
  }
  if (isEmbeddable(property) && property.persist !== false) return bindJson(meta, key, path, schema);
  // A property that is not stored has no column. Its schema alone validates it.
  if (property.persist === false) return { nullable: true };
  const column = shapeField(meta, key);
  const file = source?.kind === 'file' ? source.field : undefined;
  if (file !== undefined || isFile(property)) return bindFile(`${meta.className}.${key}`, column, file);
  const value = naturalKey === undefined ? column : shapeField(meta, `${key}.${naturalKey}`);
  const { nullable, target } = column;
  checkWritable(meta.className, { ...value, name: key, target }, schema);
  // Only a column of JSON is bound by the embeddable's own metadata.
  const rule = columnRule(value, meta.embeddable);
  const bounds = columnBounds(value);
  if (target === undefined) return { nullable, rule, bounds, listed: column.list, decimals: decimalsOf(value) };
  if (naturalKey !== undefined) checkUnique(target, value.property);
  const held = referredKey(property).name;
  const reference = {
    target,
    key: naturalKey ?? held,
    held: property.mapToPk === true ? held : undefined,
    isMany: false,
    creates: false,
  };
  return { nullable, rule, bounds, reference };
}

function decimalsOf({ type, element }: ShapeField): number | undefined {
  const { kind, scale = Infinity } = element ?? type;
  return kind === 'decimal' ? scale : undefined;
}

/**
 * Finds the rounded numbers of a body that a decimal column would store. A number is none of them if the column's
 * digits after the point are the same: 0.10000000000000001 is 0.10.
 */
export function roundedDecimals(fields: readonly BoundField[], rounded: readonly RoundedNumber[]): Problem[] {
  return rounded.flatMap(({ path, text }) => {
    const decimals = decimalsAt(fields, path.split('/').slice(1));
    const isKept =
      decimals === undefined || withDecimals(text, decimals) === withDecimals(String(Number(text)), decimals);
    return isKept ? [] : [{ path, message: 'is a number that would be rounded' }];
  });
}

function decimalsAt(fields: readonly BoundField[], [first, ...steps]: readonly string[]): number | undefined {
  const field = fields.find(({ sentAs }) => pointerStep(sentAs) === `/${first}`);
  const isList = field?.isList === true || field?.listed === true;
  const rest = isList ? steps.slice(1) : steps;
  return field?.parts === undefined ? field?.decimals : decimalsAt(field.parts, rest);
}

function withDecimals(text: string, decimals: number): string {
  const plain = plainDecimal(text);
  if (plain === undefined) return text;
  return shortDecimal(decimals === Infinity ? plain : toScale(plain, decimals));
}

/** Binds an embeddable, or a list of them, in one column. Its values are validated like the values of columns. */
function bindJson(meta: EntityMetadata, key: string, path: string, schema: TSchema): BoundColumn {
  const column = shapeField(meta, key);
  const { property, nullable } = column;
  checkWritable(meta.className, column, schema);
  const isList = property.array === true;
  const object = objectIn(isList ? ((schema as { items?: TSchema }).items ?? {}) : schema);
  const inner = targetOf(property) as EntityMetadata;
  const parts = object && bindFields(inner, object, new Map(), { key: '', path: isList ? '' : path });
  return { nullable, parts, isList };
}

function bindFile(owner: string, { property, nullable }: ShapeField, file: FileField | undefined): BoundColumn {
  if (!isFile(property)) {
    throw new ImproperlyConfigured(`${owner} is not a file: file() needs a property of the type FileType`);
  }
  if (file === undefined) {
    throw new ImproperlyConfigured(`${owner} is a file: in writeShape() it is { ${property.name}: file({ … }) }`);
  }
  return { nullable, rule: file.direct ? sentOrUploaded : sentFile, file };
}

function sentFile(value: unknown): PendingFile {
  if (value instanceof PendingFile) return value;
  throw new FieldValueError('must be a file, sent as multipart/form-data');
}

function sentOrUploaded(value: unknown): PendingFile {
  if (value instanceof PendingFile) return value;
  if (isNamedUpload(value)) {
    throw new FieldValueError('must name an upload that you have asked for, for this field');
  }
  throw new FieldValueError('must be a file, sent as multipart/form-data, or the upload of one, {"upload": "…"}');
}

function bindNested(
  meta: EntityMetadata,
  name: string,
  property: EntityProperty,
  nested: Nested<object, object>,
): BoundColumn {
  const children = bindChildren(meta, name, nested);
  return children.isOne
    ? { nullable: isNullableRecord(property), children }
    : { nullable: false, children, maxItems: nested.max };
}

function bindToMany(
  meta: EntityMetadata,
  name: string,
  property: EntityProperty,
  source: RelationSource | undefined,
): BoundColumn {
  const isManyToMany = property.kind === ReferenceKind.MANY_TO_MANY;
  if (source?.kind !== 'refs' || !isManyToMany) {
    const how = isManyToMany ? `refs('${name}')` : 'nested(…), since its records belong to one each';
    throw new ImproperlyConfigured(
      `${meta.className}.${name} leads to many records: in writeShape() it is { ${name}: ${how} }, or a hook of the view writes it`,
    );
  }
  checkRowsOfRelation(meta, property);
  const target = relatedMeta(meta, name);
  const key = source.key ?? keyName(target);
  const value = shapeField(target, key);
  checkUnique(target, value.property);
  const reference = { target, key, held: undefined, isMany: true, creates: source.create };
  return { nullable: false, rule: columnRule(value), reference, maxItems: source.max };
}

/**
 * MikroORM writes a row of a many-to-many relation from both sides. The second time it skips the row if its key exists.
 * A row with its own key never matches, so it is stored twice.
 *
 * @throws ImproperlyConfigured for a relation with that problem
 */
function checkRowsOfRelation({ className }: EntityMetadata, relation: EntityProperty): void {
  const { targetMeta, pivotEntity, inversedBy, mappedBy } = relation;
  // Before MikroORM has discovered the entity, and on MongoDB, no metadata about these rows exists.
  if (targetMeta === undefined || pivotEntity === undefined) return;
  const inverse: EntityProperty | undefined = targetMeta.properties[inversedBy as never];
  const hasBothSides = mappedBy !== undefined || (inverse !== undefined && !isAddedInverse(inverse));
  const rows = metaOf(pivotEntity);
  if (!hasBothSides || rows === undefined || rows.compositePK) return;
  throw new ImproperlyConfigured(
    `${className}.${relation.name} cannot be written by refs(): ${rows.className} has a key of its own, "${rows.primaryKeys.join()}", ` +
      'so MikroORM writes each of its rows twice, once from each side; make its two relations its primary key, or write its records by nested()',
  );
}

/**
 * @throws ImproperlyConfigured for a property that no client can write: the database computes it, or its column is on
 * the other side
 */
function checkWritableProperty(owner: string, property: EntityProperty): void {
  if (property.formula !== undefined || property.generated !== undefined) {
    throw new ImproperlyConfigured(`${owner} is computed by the database, so a write shape cannot have it`);
  }
  if (isToOne(property) && !ownsColumn(property)) {
    throw new ImproperlyConfigured(
      `${owner} has its column on the other side: in writeShape() it is { ${property.name}: nested(…) }, which writes the related record itself`,
    );
  }
}

/** @throws ImproperlyConfigured if several records may have the same value */
function checkUnique(target: EntityMetadata, property: EntityProperty): void {
  if (isUnique(target, property)) return;
  throw new ImproperlyConfigured(
    `${target.className}.${property.name} is not unique, so no reference can be made by it; make the property unique(), or refer by its primary key`,
  );
}
