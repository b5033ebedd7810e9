import {
  Cascade,
  type EntityManager,
  type EntityMetadata,
  type EventManager,
  type EventSubscriber,
  EventType,
  ReferenceKind,
  Utils,
} from '@mikro-orm/core';
import { type Awaitable, whenReady } from '../awaitable.ts';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { customTypeOf } from '../fields/field-type.ts';
import type { Condition } from '../language/condition.ts';
import type { Projection } from '../language/projection.ts';
import { entityPlan } from '../backends/sql/entity-plan.ts';
import { selectionOf } from '../backends/sql/selection.ts';
import { isKnownUnfiltered } from '../mikro/unfiltered.ts';
import { bindWrite, type Assignment, type Write } from '../backends/sql/write-statement.ts';

/**
 * Writes rows without entities, each as one statement that answers with what was stored. It means what the unit of work
 * would do only where `canWriteRows` says so.
 */
export interface RowWriter<Record> {
  insert(em: EntityManager, data: object): Awaitable<{ readonly pk: unknown; readonly record: Record }>;
  /** Undefined where the condition is true of no record. */
  update(em: EntityManager, condition: Condition, data: object): Awaitable<Record | undefined>;
  /** False where the condition is true of no record. */
  remove(em: EntityManager, condition: Condition): Awaitable<boolean>;
}

export function rowWriter<Record>(meta: EntityMetadata, projection: Projection<Record>): RowWriter<Record> {
  const pk = fieldPath(meta, meta.primaryKeys[0] as string, '.');
  const key = selectionOf({ paths: [pk] });
  const returning = selectionOf(projection);
  const isPkShown = projection.paths.includes(pk);
  const inserted = isPkShown ? returning : selectionOf({ paths: [...projection.paths, pk] });
  const pkPlace = inserted.paths.indexOf(pk);
  const run = (em: EntityManager, write: Write): Awaitable<unknown[][]> => {
    const plan = entityPlan(em, meta);
    const { statement, values } = bindWrite(em, plan, write);
    return plan.dialect.write(em, (reader) => reader.rows(statement, values));
  };
  return {
    insert: (em, data) =>
      whenReady(
        run(em, { kind: 'insert', assignments: assignmentsOf(meta, data), condition: undefined, returning: inserted }),
        ([row = []]) => ({ pk: row[pkPlace], record: projection.readRow(row) }),
      ),
    update: (em, condition, data) =>
      whenReady(run(em, { kind: 'update', assignments: assignmentsOf(meta, data), condition, returning }), ([row]) =>
        row === undefined ? undefined : projection.readRow(row),
      ),
    remove: (em, condition) =>
      whenReady(run(em, { kind: 'delete', assignments: [], condition, returning: key }), (rows) => rows.length > 0),
  };
}

function assignmentsOf(meta: EntityMetadata, data: object): Assignment[] {
  const assignments: Assignment[] = [];
  for (const [name, value] of Object.entries(data) as [string, unknown][]) {
    if (value !== undefined) assignments.push({ path: fieldPath(meta, name, '.'), value });
  }
  return assignments;
}

/**
 * Whether the rows of an entity can be written past the unit of work, as far as its declaration tells: nothing in it
 * runs code on a write, and every field written or read is a plain column of its own table.
 *
 * @param written the fields that a write may name
 * @param read the fields that are read back
 */
export function isPlainlyWritten(
  meta: EntityMetadata,
  written: readonly string[],
  read: readonly FieldPath[],
): boolean {
  if (meta.root.inheritanceType !== undefined || meta.versionProperty !== undefined || !isBareClass(meta.class)) {
    return false;
  }
  if (meta.props.some((property) => property.onCreate !== undefined || property.onUpdate !== undefined)) return false;
  const cascades = meta.relations.some(
    ({ cascade, orphanRemoval }) => orphanRemoval === true || cascade.some((kind) => kind !== Cascade.PERSIST),
  );
  if (cascades) return false;
  return (
    read.every((path) => path.steps.length === 0 && isPlainColumn(path)) &&
    written.every((name) => name in meta.properties && isPlainColumn(fieldPath(meta, name, '.')))
  );
}

const PLAIN_KINDS: ReadonlySet<string> = new Set([
  'string',
  'integer',
  'bigint',
  'number',
  'decimal',
  'boolean',
  'datetime',
  'uuid',
  'enum',
]);

function isPlainColumn({ property, type }: FieldPath): boolean {
  if (property.kind !== ReferenceKind.SCALAR || property.persist === false || property.formula !== undefined) {
    return false;
  }
  const { hasConvertToJSValueSQL, hasConvertToDatabaseValueSQL, fieldNames, embedded } = property;
  if (hasConvertToJSValueSQL || hasConvertToDatabaseValueSQL || embedded !== undefined || fieldNames.length !== 1) {
    return false;
  }
  return PLAIN_KINDS.has(type.kind) && customTypeOf(property) === undefined;
}

/** The class that `defineEntity` makes: no constructor and no field initialisers that would set what is not sent. */
function isBareClass(entity: unknown): boolean {
  return /^class(?:\s+\w+)?\s*\{\s*\}$/.test(Function.prototype.toString.call(entity));
}

/** Events of a written entity; a subscriber hears of those of the entities that it names. */
const ENTITY_EVENTS = Object.values(EventType).filter((event) => event !== EventType.onLoad);
/** Events of a flush: every subscriber that has such a method hears of every flush, whatever it names. */
const FLUSH_EVENTS = [EventType.beforeFlush, EventType.onFlush, EventType.afterFlush] as const;

/**
 * Whether a write may go past the unit of work right now: nobody listens, no filter hides records from it, and there is
 * no transaction that it would have to be part of.
 */
export function canWriteRows(em: EntityManager, meta: EntityMetadata): boolean {
  return isKnownUnfiltered(em, meta) && !em.isInTransaction() && !isHeardOf(em.getEventManager(), meta);
}

/**
 * Of which entities somebody hears. It holds for as many subscribers: MikroORM forgets none, and reads what each listens
 * to when it is registered, as is done here.
 */
interface Audience {
  readonly subscribers: number;
  readonly hears: WeakMap<EntityMetadata, boolean>;
}

const audiences = new WeakMap<EventManager, Audience>();

function isHeardOf(events: EventManager, meta: EntityMetadata): boolean {
  const { size } = events.getSubscribers();
  let audience = audiences.get(events);
  if (audience?.subscribers !== size) {
    audiences.set(events, (audience = { subscribers: size, hears: new WeakMap<EntityMetadata, boolean>() }));
  }
  let heard = audience.hears.get(meta);
  if (heard === undefined) audience.hears.set(meta, (heard = findHearer(events, meta)));
  return heard;
}

function findHearer(events: EventManager, meta: EntityMetadata): boolean {
  if (ENTITY_EVENTS.some((event) => events.hasListeners(event, meta))) return true;
  return [...events.getSubscribers()].some((subscriber) => hearsOfFlushes(subscriber, meta));
}

/** One that names its entities and says `flushesOfOthers: false` asks for no flush that has nothing of them. */
function hearsOfFlushes(
  subscriber: EventSubscriber & { readonly flushesOfOthers?: boolean },
  meta: EntityMetadata,
): boolean {
  if (!FLUSH_EVENTS.some((event) => subscriber[event] !== undefined)) return false;
  const named = subscriber.getSubscribedEntities?.() ?? [];
  const isAbout =
    named.length === 0 || named.some((entity) => meta.class === entity || meta.className === Utils.className(entity));
  return isAbout || subscriber.flushesOfOthers !== false;
}
