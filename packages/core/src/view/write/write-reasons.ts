import {
  Cascade,
  type EntityManager,
  type EntityMetadata,
  type EntityProperty,
  type FilterOptions,
  type MikroORM,
} from '@mikro-orm/core';
import { isUnfiltered } from '../../backends/entity-filters.ts';
import { fieldPath, type FieldPath } from '../../fields/field-path.ts';
import { isInlineEmbeddable } from '../../fields/property.ts';
import { isEmpty } from '../../support/json.ts';
import { type Condition, readsOnlyColumns } from '../../query/language/condition.ts';
import { hasCustomCode } from '../../mikro/entity-code.ts';
import type { PermissionGrant } from '../../permissions/evaluate.ts';
import { CHECKS_RECORDS, HIDES_RECORDS, type Permission } from '../../permissions/permission.ts';
import { backendOf } from '../../query/backend-of.ts';
import type { RecordOutput } from '../request/record-output.ts';
import type { RecordOutputs } from '../output/record-outputs.ts';
import type { ViewOverrides } from '../request/view-overrides.ts';
import { isPlainColumn } from '../output/plain-column.ts';
import type { ViewInput } from './view-input.ts';
import type { WriteOperation } from '../request/operation.ts';
import type { ListenersByOperation } from './write-listener.ts';

/** The write of one record in a request. */
export interface Write {
  /** The entity manager that a statement would run with. */
  readonly em: EntityManager;
  /** The result of the permissions; undefined if the view has none. */
  readonly grant: PermissionGrant | undefined;
  /** Matches the record to write; undefined for a new record. */
  readonly condition: Condition | undefined;
  /** The MikroORM filters that the view names; undefined if it names none. */
  readonly filters: FilterOptions | undefined;
  /** The fields to write, with their values. */
  readonly data: object;
  /** The record to return after the write; undefined if there is none. */
  readonly output: RecordOutput | undefined;
}

/** A reason why a write is not one statement. */
export interface WriteReason {
  /** The reason, as a text for developers. */
  readonly text: string;
  /**
   * - `always`: applies to all requests, at least for now. `explain()` lists it.
   * - `untilKnown`: like `always`, until something is known of the database soon after the start.
   * - `declared`: applies to some requests, and follows from the view's declarations.
   * - `perRequest`: applies to some requests, and cannot be known before them.
   * - `needsTransaction`: the write is one statement, but the statement needs a transaction.
   */
  readonly kind: 'always' | 'untilKnown' | 'declared' | 'perRequest' | 'needsTransaction';
  /** Reports whether the reason applies to a write. */
  readonly applies: (write: Write) => boolean;
}

/** The declarations of a view that decide how it writes. */
export interface WritingView {
  readonly name: string;
  readonly orm: MikroORM;
  readonly meta: EntityMetadata;
  readonly key: { readonly column: FieldPath };
  readonly overrides: ViewOverrides;
  readonly permissions: { of(operation: WriteOperation): readonly Permission[] };
  readonly nesting: { readonly relation: string } | undefined;
  readonly input: ViewInput | undefined;
  readonly outputs: RecordOutputs;
  readonly features: {
    readonly recorder: { readonly option: string } | undefined;
    readonly listeners: ListenersByOperation;
    readonly deletion: object | undefined;
    readonly writeCondition: { readonly reason: string | undefined } | undefined;
  };
}

/** The state of an application that writes depend on and that can change at runtime. */
export interface WriteState {
  /** Undefined until the database has answered. */
  readonly hasTriggers: boolean | undefined;
  /** Reports whether a subscriber listens to a write. */
  hasSubscriber(operation: WriteOperation): boolean;
}

type Applies = WriteReason['applies'];

/** Applies to every write. */
export const everyWrite: Applies = () => true;

/**
 * Lists every reason why a write of a view may take more than one statement. `explain()`, the log at startup, the check
 * of an ORM without transactions and the decision for each request all use this list.
 */
export function writeReasons(operation: WriteOperation, view: WritingView, state: WriteState): readonly WriteReason[] {
  const { orm, meta, permissions } = view;
  const { className, tableName } = meta;
  const reasons: WriteReason[] = [];
  const add = (kind: WriteReason['kind'], applies: Applies, ...texts: readonly string[]): void => {
    for (const text of texts) {
      if (!reasons.some((known) => known.text === text)) reasons.push({ text, kind, applies });
    }
  };
  add('always', everyWrite, ...ofHooks(operation, view), ...ofEntity(meta), ...ofColumns(operation, view));
  if (operation === 'create') add('always', everyWrite, ...ofAbsentEmbeddables(meta));
  if (operation !== 'destroy') {
    const outputs = view.outputs.choicesFor(operation);
    add('always', showsMore, ...ofOutput(meta, outputs[0]!));
    if (view.outputs.canExpand) add('declared', showsMore, 'a request may "expand" the response');
    const others = outputs.filter(({ isPlain }) => !isPlain).map((output) => output.name);
    const shown = `shows other than plain columns of ${className}`;
    add('declared', showsMore, ...others.map((each) => `the read shape "${each}" ${shown}`));
  }
  const filtered = `a filter of MikroORM is on for ${className}, or for what it refers to`;
  add('always', ({ em }) => !isUnfiltered(em, meta), filtered);
  const marks = operation === 'destroy' && view.features.deletion !== undefined;
  add('always', () => state.hasSubscriber(marks ? 'update' : operation), `a subscriber is notified of ${className}`);
  if (operation === 'destroy' && !marks) {
    add('needsTransaction', everyWrite, ...backendOf(orm.em).removalReasons(orm.em, meta));
  }
  add('always', () => state.hasTriggers === true, `the table "${tableName}" has triggers`);
  const unknownTriggers = `it is not known yet if the table "${tableName}" has triggers`;
  add('untilKnown', () => state.hasTriggers === undefined, unknownTriggers);
  const conditional = operation === 'create' ? undefined : view.features.writeCondition?.reason;
  if (conditional !== undefined) add('declared', withoutConditions, conditional);
  const question = operation === 'create' ? HIDES_RECORDS : CHECKS_RECORDS;
  const checking = permissions
    .of(operation)
    .filter((permission) => permission[question])
    .map(({ constructor }) => constructor.name);
  const needsCheck = needsCheckAfterWrite[operation];
  add('declared', needsCheck, ...checking.map((each) => `the permission ${each} has to see the record`));
  add('perRequest', needsCheck, 'the permissions have to see the record');
  add('perRequest', ({ filters }) => filters !== undefined, 'the view names filters of MikroORM');
  add('perRequest', ({ em }) => em.isInTransaction(), 'the request is in a transaction already');
  if (operation !== 'create') add('perRequest', readsOthers, 'other records decide if the record may be written');
  if (operation === 'update') add('perRequest', changesNothing, 'the request changes nothing');
  return reasons;
}

/** A request with an `If-Match` or `If-None-Match` writes in a transaction before the reasons are evaluated. */
function withoutConditions(): boolean {
  return false;
}

function showsMore({ output }: Write): boolean {
  return output?.isPlain === false;
}

/** If a statement waits for a row lock, the database does not check conditions on other rows again. */
function readsOthers({ condition }: Write): boolean {
  return condition !== undefined && !readsOnlyColumns(condition);
}

function changesNothing({ data }: Write): boolean {
  return isEmpty(data);
}

/** Only a transaction can check a written record and undo the write. */
const needsCheckAfterWrite: Readonly<Record<WriteOperation, Applies>> = {
  create: ({ grant }) => grant?.scope !== undefined,
  update: ({ grant, data }) => {
    if (grant === undefined) return false;
    if (grant.needsObject) return true;
    // A generated column may change with any other column.
    const stays = ({ property }: FieldPath): boolean => !(property.name in data || property.generated !== undefined);
    return grant.scope !== undefined && readsOnlyColumns(grant.scope) && !readsOnlyColumns(grant.scope, stays);
  },
  destroy: ({ grant }) => grant?.needsObject === true,
};

function ofHooks(
  operation: WriteOperation,
  { name, overrides, nesting, input, features: { recorder, listeners } }: WritingView,
): readonly string[] {
  const hooks = overrides.hooksOf(operation).map((hook) => `${name} overrides ${hook}`);
  const options = [
    ...listeners[operation].map(({ option }) => option),
    ...(recorder === undefined ? [] : [recorder.option]),
  ];
  if (options.length > 0) hooks.push(`${name} has options that receive each write: ${options.join(', ')}`);
  const set =
    operation === 'create'
      ? [
          ...(nesting === undefined ? [] : [`the path of ${name} sets "${nesting.relation}"`]),
          ...(input?.filled ?? []).map((field) => `the view fills "${field}"`),
        ]
      : [];
  const isRuled = operation !== 'destroy' && input?.isRuled === true;
  return [...hooks, ...set, ...(isRuled ? ['the view has rules: validate'] : [])];
}

function ofEntity(meta: EntityMetadata): readonly string[] {
  const { className } = meta;
  const reasons: string[] = [];
  if (meta.root.inheritanceType !== undefined) reasons.push(`${className} is one of several entities in its table`);
  if (meta.versionProperty !== undefined) reasons.push(`${className} has a version`);
  if (hasCustomCode(meta)) reasons.push(`the class of ${className} has code of its own`);
  for (const { name, onCreate, onUpdate } of meta.props) {
    if (onCreate !== undefined || onUpdate !== undefined) reasons.push(`"${name}" has onCreate or onUpdate`);
  }
  for (const { name, cascade, orphanRemoval } of meta.relations as readonly Partial<EntityProperty>[]) {
    // The inverse side that MikroORM adds to a relation has no `cascade`.
    const cascades = orphanRemoval === true || cascade?.some((kind) => kind !== Cascade.PERSIST);
    if (cascades) reasons.push(`"${name}" cascades`);
  }
  return reasons;
}

/** A new record without an embeddable has NULL in all its columns, and not their defaults. */
function ofAbsentEmbeddables({ props }: EntityMetadata): readonly string[] {
  const withDefault = props.filter(({ embedded, defaultRaw }) => embedded !== undefined && defaultRaw !== undefined);
  return withDefault.map(({ name }) => `"${name}" is a column of an embeddable, with a default`);
}

function ofColumns(operation: WriteOperation, { meta, key, input }: WritingView): readonly string[] {
  const shapes = operation === 'destroy' ? [] : (input?.choicesFor(operation) ?? []);
  const fields = shapes.flatMap(({ shape }) => shape.fields);
  const names = [...new Set(fields.map(({ name }) => name))];
  const nested = new Set(fields.filter(({ children }) => children !== undefined).map(({ name }) => name));
  const isColumn = (name: string): boolean => {
    if (nested.has(name)) return false;
    const property = meta.properties[name as never] as EntityProperty | undefined;
    return property !== undefined && property.persist !== false && !isInlineEmbeddable(property);
  };
  const columns = names.filter(isColumn).map((name) => fieldPath(meta, name, '.'));
  const others = names.filter((name) => !isColumn(name));
  return [...notPlain([key.column, ...columns]), ...others].map(
    (name) => `"${name}" is not a plain column of ${meta.className}`,
  );
}

function ofOutput(
  { className }: EntityMetadata,
  { projection: { paths, related = [] } }: RecordOutput,
): readonly string[] {
  return [
    ...related.map(
      ({ relation }) => `the response shows the records of "${relation.name}", which a further statement reads`,
    ),
    ...notPlain(paths).map((name) => `"${name}" is not a plain column of ${className}`),
  ];
}

/** Returns the names of the columns that a statement cannot write or return unchanged. */
function notPlain(paths: readonly FieldPath[]): readonly string[] {
  return paths.filter((path) => !isPlainColumn(path)).map(({ key }) => key);
}
