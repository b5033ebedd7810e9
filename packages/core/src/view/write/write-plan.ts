import type { FastifyBaseLogger } from 'fastify';
import type { MikroORM } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { always } from '../../query/language/condition.ts';
import { hasSubscriber } from '../../mikro/subscribers.ts';
import { backendOf } from '../../query/backend-of.ts';
import { byName, type WriteOperation, WRITES } from '../request/operation.ts';
import {
  everyWrite,
  type Write,
  type WritingView,
  type WriteReason,
  writeReasons,
  type WriteState,
} from './write-reasons.ts';

/** How one operation of a view writes to the database. */
export interface WriteExplanation {
  /**
   * True: `insert`, `update` or `delete … returning`. On MongoDB `insertOne`, `findOneAndUpdate` or `findOneAndDelete`,
   * and before that one command that generates an integer key. An `If-Match` is compared by an earlier statement.
   * False: a transaction of several statements, by MikroORM's unit of work if code must see an entity.
   */
  readonly oneStatement: boolean;
  /** Why the operation needs more than one statement. */
  readonly reasons: readonly string[];
}

type ByOperation<Value> = Readonly<Record<WriteOperation, Value>>;

/**
 * Decides how a view writes. One statement bypasses the unit of work and returns the record as stored. It has the same
 * effect only if nothing needs an entity: no hook, subscriber, trigger, filter or code of the entity's class. Most
 * reasons are known when the view is registered. A request adds its permissions and transaction.
 */
export class WritePlan implements WriteState {
  readonly #view: WritingView;
  readonly #reasons: ByOperation<readonly WriteReason[]>;
  /** The checks for each request, without duplicates. */
  readonly #questions: ByOperation<readonly WriteReason['applies'][]>;
  #hasTriggers: boolean | undefined;
  /**
   * The operations that subscribers listen to, and the number of subscribers when this was computed. Subscribers are
   * never removed.
   */
  #subscribers: { readonly count: number; readonly hear: ByOperation<boolean> } | undefined;

  constructor(view: WritingView) {
    this.#view = view;
    this.#reasons = byName(WRITES, (operation) => writeReasons(operation, view, this));
    this.#questions = byName(WRITES, (operation) => {
      const deciding = this.#reasons[operation].filter(({ kind }) => kind !== 'needsTransaction');
      const questions = [...new Set(deciding.map(({ applies }) => applies))];
      return questions.includes(everyWrite) ? [everyWrite] : questions;
    });
  }

  get name(): string {
    return this.#view.name;
  }

  get hasTriggers(): boolean | undefined {
    return this.#hasTriggers;
  }

  /** Reports whether one statement can write. Otherwise the unit of work must. */
  isOneStatement(operation: WriteOperation, write: Write): boolean {
    for (const applies of this.#questions[operation]) if (applies(write)) return false;
    return true;
  }

  /** Explains how each operation writes, and why it needs more than one statement. */
  explain(): ByOperation<WriteExplanation> {
    return byName(WRITES, (operation) => {
      const found = this.#reasonsNow(operation);
      return { oneStatement: found.length === 0, reasons: found.map(({ text }) => text) };
    });
  }

  /** Lists why requests for an operation may need a transaction, as far as is known before the first request. */
  transactionReasons(operation: WriteOperation): readonly string[] {
    const now = this.#reasonsNow(operation).filter(({ kind }) => kind !== 'untilKnown');
    const foreseen = this.#reasons[operation].filter(({ kind }) => kind === 'declared');
    return [...now, ...foreseen].map(({ text }) => text);
  }

  hasSubscriber(operation: WriteOperation): boolean {
    const { orm, meta } = this.#view;
    const events = orm.em.getEventManager();
    const { size } = events.getSubscribers();
    if (this.#subscribers?.count !== size) {
      this.#subscribers = { count: size, hear: byName(WRITES, (each) => hasSubscriber(events, meta, each)) };
    }
    return this.#subscribers.hear[operation];
  }

  /** @internal */
  learnTriggers(tables: ReadonlySet<string>): void {
    this.#hasTriggers = tables.has(this.#view.meta.tableName.toLowerCase());
  }

  /** The reasons that apply to a request without choices that passes every permission. */
  #reasonsNow(operation: WriteOperation): readonly WriteReason[] {
    const { orm, outputs } = this.#view;
    const usual: Write = {
      em: orm.em,
      grant: undefined,
      condition: operation === 'create' ? undefined : always,
      filters: undefined,
      data: {},
      output: operation === 'destroy' ? undefined : outputs.defaultFor(operation),
    };
    return this.#reasons[operation].filter(
      ({ kind, applies }) => kind !== 'declared' && kind !== 'perRequest' && applies(usual),
    );
  }
}

/** The maximum time that the start of an application waits for the database. */
const PATIENCE_MS = 2000;

/**
 * Finds the tables with triggers, because statements do not return the changes of triggers. Logs at debug level why a
 * view does not write in one statement. Until the database has answered, the unit of work writes.
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
    for (const operation of WRITES) {
      const { oneStatement, reasons } = explanation[operation];
      if (!oneStatement) log.debug({ view: plan.name, operation, reasons }, 'this write takes more than one statement');
    }
  }
}
