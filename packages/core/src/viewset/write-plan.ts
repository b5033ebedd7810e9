import {
  Cascade,
  type EntityMetadata,
  type EntityProperty,
  type EventManager,
  type EventSubscriber,
  EventType,
  type FilterOptions,
  type MikroORM,
  Utils,
} from '@mikro-orm/core';
import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { setTimeout as sleep } from 'node:timers/promises';
import { fieldPath, type FieldPath } from '../fields/field-path.ts';
import { isInlineEmbeddable } from '../fields/property.ts';
import { type Condition, ownColumns } from '../language/condition.ts';
import type { RowWrite } from '../backends/backend.ts';
import { isUnfiltered } from '../backends/entity-filters.ts';
import { backendOf } from '../query/backend-of.ts';
import type { Projection } from '../language/projection.ts';
import type { PermissionGrant } from '../permissions/evaluate.ts';
import type { Answer } from './answer.ts';
import { isPlainColumn } from './plain-column.ts';
import { stateOf } from './request-state.ts';

/** The operations that write. */
export type WriteOperation = 'create' | 'update' | 'destroy';

/** The record that a request writes. */
export interface WriteTarget {
  readonly operation: WriteOperation;
  /** True of the record that may be written; undefined for a new one. */
  readonly condition?: Condition;
  /** The filters of MikroORM that the view names; undefined if it leaves them as they are. */
  readonly filters?: FilterOptions | undefined;
  /** The fields that are written, with their values. */
  readonly data: object;
  /** The answer to the write; undefined if there is none. */
  readonly answer?: Answer;
}

/** The way of one operation of a view to the database. */
export interface WriteExplanation {
  /**
   * True: `insert`, `update` or `delete … returning`; on MongoDB `insertOne`, `findOneAndUpdate` or `findOneAndDelete`, and one command
   * before that counts a key that is a whole number. An `If-Match` is compared by a statement before it. False: a transaction of several, through MikroORM's unit of work if an entity has to be
   * seen.
   */
  readonly oneStatement: boolean;
  /** Why it is not one statement. */
  readonly reasons: readonly string[];
}

/** The declarations of a view that decide how it writes. */
export interface WriteDeclarations {
  readonly name: string;
  readonly orm: MikroORM;
  readonly meta: EntityMetadata;
  /** The column whose value names a record. */
  readonly key: FieldPath;
  /** The fields that a body may name. */
  readonly written: Readonly<Record<'create' | 'update', readonly string[]>>;
  /** The reading of the answers that requests get if they do not choose. */
  readonly answers: Readonly<Partial<Record<WriteOperation, Projection<object>>>>;
  /** The hooks that the view overrides. */
  readonly overridden: readonly string[];
  /** Reasons of the view's own. */
  readonly reasons: Readonly<Record<'create' | 'update', readonly string[]>>;
  /** Reasons that some requests have. */
  readonly occasional: Readonly<Record<WriteOperation, readonly string[]>>;
}

/** The hooks whose overrides have to see an entity, by operation. */
const ENTITY_HOOKS: Readonly<Record<WriteOperation, readonly string[]>> = {
  create: ['performCreate', 'represent'],
  update: ['performUpdate', 'represent', 'getObject', 'checkObjectPermissions'],
  destroy: ['performDestroy', 'getObject', 'checkObjectPermissions'],
};

const OPERATIONS = Object.keys(ENTITY_HOOKS) as WriteOperation[];

/**
 * Decides how a view writes. One statement writes past the unit of work and answers with the record as it was stored. It
 * means the same as the unit of work only if nothing has to see an entity: no hook, subscriber, trigger, filter or code of the
 * entity's class. All of that is decided when the view is registered; a request adds its permissions and transaction.
 */
export class WritePlan {
  readonly name: string;
  readonly #orm: MikroORM;
  readonly #meta: EntityMetadata;
  readonly #reasons: Readonly<Record<WriteOperation, readonly string[]>>;
  /** The reasons of the answers that requests get if they do not choose; each other answer has its own `isPlain`. */
  readonly #answerReasons: Readonly<Partial<Record<WriteOperation, readonly string[]>>>;
  readonly #occasional: WriteDeclarations['occasional'];
  /** Undefined until the database has told. */
  #hasTriggers: boolean | undefined;
  /** The number of subscribers that was last seen, none of which ever leaves, and the operations that one of them hears of. */
  #subscribers: { readonly count: number; readonly hear: ReadonlySet<WriteOperation> } | undefined;

  constructor(declarations: WriteDeclarations) {
    const { name, orm, meta, key, written, answers, overridden, reasons } = declarations;
    this.name = name;
    this.#orm = orm;
    this.#meta = meta;
    this.#occasional = declarations.occasional;
    const ofEntity = entityReasons(meta);
    const reasonsOf = (operation: WriteOperation): readonly string[] => [
      ...overridden.filter((hook) => ENTITY_HOOKS[operation].includes(hook)).map((hook) => `${name} overrides ${hook}`),
      ...(operation === 'destroy' ? [] : reasons[operation]),
      ...ofEntity,
      ...columnReasons(meta, operation === 'create' ? written.create : written.update, [key]),
    ];
    const answerReasons = Object.entries(answers).map(
      ([operation, answer]) => [operation, [...ofAnswer(answer), ...columnReasons(meta, [], answer.paths)]] as const,
    );
    this.#answerReasons = Object.fromEntries(answerReasons);
    this.#reasons = { create: reasonsOf('create'), update: reasonsOf('update'), destroy: reasonsOf('destroy') };
  }

  /** Answers with the write of a request that is one statement; undefined if the unit of work has to write. */
  statementFor(request: FastifyRequest, target: WriteTarget): Omit<RowWrite<object>, 'projection'> | undefined {
    if (this.#reasons[target.operation].length > 0 || this.#hasTriggers !== false) return undefined;
    if (target.answer?.isPlain === false) return undefined;
    // A statement of its own knows no filters.
    if (target.filters !== undefined) return undefined;
    if (!keepsRights(stateOf(request).grant, target)) return undefined;
    const { reader } = request;
    if (!isUnfiltered(reader, this.#meta) || reader.isInTransaction()) return undefined;
    if (this.#isHeard(target.operation)) return undefined;
    return { em: reader, meta: this.#meta, request };
  }

  /** Tells how each operation writes, and what keeps it from being one statement. */
  explain(): Readonly<Record<WriteOperation, WriteExplanation>> {
    const { tableName } = this.#meta;
    const now: string[] = [];
    if (this.#hasTriggers === true) now.push(`the table "${tableName}" has triggers`);
    if (this.#hasTriggers === undefined) now.push(`the database has not told yet if "${tableName}" has triggers`);
    const explained = (operation: WriteOperation): WriteExplanation => {
      const reasons = [...this.#usualReasons(operation), ...now];
      return { oneStatement: reasons.length === 0, reasons };
    };
    return { create: explained('create'), update: explained('update'), destroy: explained('destroy') };
  }

  /** Tells why requests may need a transaction for an operation, as far as that is known before the first one. */
  transactionReasons(operation: WriteOperation): readonly string[] {
    return [...this.#usualReasons(operation), ...this.#occasional[operation]];
  }

  /** The reasons that every request has, whatever the triggers are. */
  #usualReasons(operation: WriteOperation): readonly string[] {
    const { em } = this.#orm;
    const { className } = this.#meta;
    const declared = [...this.#reasons[operation], ...(this.#answerReasons[operation] ?? [])];
    const filtered = isUnfiltered(em, this.#meta)
      ? []
      : [`a filter of MikroORM is on for ${className}, or for what it refers to`];
    const heard = this.#isHeard(operation) ? [`a subscriber hears of ${className}`] : [];
    const ofDatabase = operation === 'destroy' ? backendOf(em).removalReasons(em, this.#meta) : [];
    return [...new Set(declared), ...filtered, ...heard, ...ofDatabase];
  }

  /** Tells if a subscriber hears of a write. One may come at any time. */
  #isHeard(operation: WriteOperation): boolean {
    const events = this.#orm.em.getEventManager();
    const { size } = events.getSubscribers();
    if (this.#subscribers?.count !== size) {
      const hear = new Set(OPERATIONS.filter((each) => isHeard(events, this.#meta, each)));
      this.#subscribers = { count: size, hear };
    }
    return this.#subscribers.hear.has(operation);
  }

  /** @internal */
  learnTriggers(tables: ReadonlySet<string>): void {
    this.#hasTriggers = tables.has(this.#meta.tableName.toLowerCase());
  }
}

/**
 * One statement cannot look at the record that it has written and undo it, and a condition on other rows is not asked
 * again of a row that the statement had to wait for. Both need a transaction.
 */
function keepsRights(grant: PermissionGrant | undefined, { operation, condition, data }: WriteTarget): boolean {
  const { scope, needsObject = false } = grant ?? {};
  if (condition === undefined) return scope === undefined;
  if (needsObject || ownColumns(condition) === undefined) return false;
  if (operation === 'destroy') return true;
  const scoped = scope === undefined ? [] : [...(ownColumns(scope) ?? [])];
  // What the database makes of other columns may change with any of them.
  const isWritten = ({ property }: FieldPath): boolean => property.name in data || property.generated !== undefined;
  return Object.keys(data).length > 0 && !scoped.some(isWritten);
}

/** The start of an application does not wait longer for its database. */
const PATIENCE_MS = 2000;

/**
 * Finds out which tables have triggers, whose changes no statement returns, and tells at debug level why a view does not
 * write in one statement. Until the database has answered, the unit of work writes.
 */
export async function prepareWrites(orm: MikroORM, plans: readonly WritePlan[], log: FastifyBaseLogger): Promise<void> {
  if (plans.length === 0) return;
  const learnt = backendOf(orm.em)
    .tablesWithTriggers(orm.em)
    .then(
      (tables) => {
        for (const plan of plans) plan.learnTriggers(tables);
      },
      (error: unknown) => log.warn({ err: error }, 'the database did not tell which tables have triggers'),
    );
  await Promise.race([learnt, sleep(PATIENCE_MS, undefined, { ref: false })]);
  for (const plan of plans) {
    const explanation = plan.explain();
    for (const operation of OPERATIONS) {
      const { oneStatement, reasons } = explanation[operation];
      if (!oneStatement) log.debug({ view: plan.name, operation, reasons }, 'this write takes more than one statement');
    }
  }
}

function entityReasons(meta: EntityMetadata): string[] {
  const { className } = meta;
  const reasons: string[] = [];
  if (meta.root.inheritanceType !== undefined) reasons.push(`${className} is one of several entities in its table`);
  if (meta.versionProperty !== undefined) reasons.push(`${className} has a version`);
  if (!isBareClass(meta.class)) reasons.push(`the class of ${className} has code of its own`);
  for (const { name, onCreate, onUpdate } of meta.props) {
    if (onCreate !== undefined || onUpdate !== undefined) reasons.push(`"${name}" has onCreate or onUpdate`);
  }
  for (const { name, cascade, orphanRemoval } of meta.relations as readonly Partial<EntityProperty>[]) {
    // The other side of a relation that MikroORM adds for itself has none.
    const cascades = orphanRemoval === true || cascade?.some((kind) => kind !== Cascade.PERSIST);
    if (cascades) reasons.push(`"${name}" cascades`);
  }
  return reasons;
}

function ofAnswer({ related = [] }: Projection<object>): string[] {
  return related.map(
    ({ relation }) => `the answer shows the records of "${relation.name}", which a further statement reads`,
  );
}

function columnReasons(meta: EntityMetadata, written: readonly string[], read: readonly FieldPath[]): string[] {
  const isColumn = (name: string): boolean => {
    const property = meta.properties[name as never] as EntityProperty | undefined;
    return property !== undefined && property.persist !== false && !isInlineEmbeddable(property);
  };
  const columns = [...read, ...written.filter(isColumn).map((name) => fieldPath(meta, name, '.'))];
  const others = written.filter((name) => !isColumn(name));
  const names = new Set([...columns.filter((path) => !isPlainColumn(path)).map(({ key }) => key), ...others]);
  return [...names].map((name) => `"${name}" is not a plain column of ${meta.className}`);
}

/** True of the class that `defineEntity` makes, and of an empty one that extends it: no code sets what is not sent. */
export function isBareClass(entity: object): boolean {
  const parent = Object.getPrototypeOf(entity) as object;
  const isEmpty = /^class(?:\s+\w+)?(?:\s+extends\s+[\w.$]+)?\s*\{\s*\}$/.test(
    Function.prototype.toString.call(entity),
  );
  return isEmpty && (parent === Function.prototype || isBareClass(parent));
}

/** Events of an entity that is written one way or another; a subscriber hears of those of the entities that it names. */
const EVENTS_OF: Readonly<Record<WriteOperation, readonly EventType[]>> = {
  create: [
    EventType.onInit,
    EventType.beforeCreate,
    EventType.afterCreate,
    EventType.beforeUpsert,
    EventType.afterUpsert,
  ],
  update: [EventType.beforeUpdate, EventType.afterUpdate],
  destroy: [EventType.beforeDelete, EventType.afterDelete],
};
/** Events of a flush: a subscriber with such a method hears of every flush, whatever entities it names. */
const FLUSH_EVENTS = [EventType.beforeFlush, EventType.onFlush, EventType.afterFlush] as const;
/** Events of a transaction, which every flush has. */
const TRANSACTION_EVENTS = [
  EventType.beforeTransactionStart,
  EventType.afterTransactionStart,
  EventType.beforeTransactionCommit,
  EventType.afterTransactionCommit,
  EventType.beforeTransactionRollback,
  EventType.afterTransactionRollback,
] as const;

/** Tells if a subscriber hears of a write by now. */
export function isHeard(events: EventManager, meta: EntityMetadata, operation: WriteOperation): boolean {
  const named = [...EVENTS_OF[operation], ...FLUSH_EVENTS, ...TRANSACTION_EVENTS];
  if (named.some((event) => events.hasListeners(event, meta))) return true;
  return [...events.getSubscribers()].some((subscriber) => listensToFlushes(subscriber, meta));
}

/** A subscriber that names its entities and says `flushesOfOthers: false` asks for no flush that has nothing of them. */
function listensToFlushes(
  subscriber: EventSubscriber & { readonly flushesOfOthers?: boolean },
  meta: EntityMetadata,
): boolean {
  if (!FLUSH_EVENTS.some((event) => subscriber[event] !== undefined)) return false;
  const named = subscriber.getSubscribedEntities?.() ?? [];
  const isAbout =
    named.length === 0 || named.some((entity) => meta.class === entity || meta.className === Utils.className(entity));
  return isAbout || subscriber.flushesOfOthers !== false;
}
