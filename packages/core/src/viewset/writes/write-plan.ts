import type { FastifyBaseLogger } from 'fastify';
import type { MikroORM } from '@mikro-orm/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { always } from '../../language/condition.ts';
import { isHeard } from '../../mikro/subscribers.ts';
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

/** The way of one operation of a view to the database. */
export interface WriteExplanation {
  /**
   * True: `insert`, `update` or `delete … returning`; on MongoDB `insertOne`, `findOneAndUpdate` or `findOneAndDelete`, and one command
   * before that counts a key that is a whole number. An `If-Match` is compared by a statement before it. False: a transaction of several,
   * through MikroORM's unit of work if an entity has to be seen.
   */
  readonly oneStatement: boolean;
  /** Why it is not one statement. */
  readonly reasons: readonly string[];
}

type ByOperation<Value> = Readonly<Record<WriteOperation, Value>>;

/**
 * Decides how a view writes. One statement writes past the unit of work and answers with the record as it was stored. It
 * means the same as the unit of work only if nothing has to see an entity: no hook, subscriber, trigger, filter or code of the
 * entity's class. Most of that is known when the view is registered; a request adds its permissions and transaction.
 */
export class WritePlan implements WriteState {
  readonly #view: WritingView;
  readonly #reasons: ByOperation<readonly WriteReason[]>;
  /** The questions to ask of a request, each once. */
  readonly #questions: ByOperation<readonly WriteReason['applies'][]>;
  #hasTriggers: boolean | undefined;
  /** The number of subscribers that was last seen, none of which ever leaves, and the operations that one of them hears of. */
  #subscribers: { readonly count: number; readonly hear: ByOperation<boolean> } | undefined;

  constructor(view: WritingView) {
    this.#view = view;
    this.#reasons = byName(WRITES, (operation) => writeReasons(operation, view, this));
    this.#questions = byName(WRITES, (operation) => {
      const deciding = this.#reasons[operation].filter(({ kind }) => kind !== 'within');
      const questions = [...new Set(deciding.map(({ applies }) => applies))];
      return questions.includes(everyWrite) ? [everyWrite] : questions;
    });
  }

  /** The name of the view. */
  get name(): string {
    return this.#view.name;
  }

  get hasTriggers(): boolean | undefined {
    return this.#hasTriggers;
  }

  /** Tells if a write is one statement; else the unit of work has to write. */
  isOneStatement(operation: WriteOperation, write: Write): boolean {
    for (const applies of this.#questions[operation]) if (applies(write)) return false;
    return true;
  }

  /** Tells how each operation writes, and what keeps it from being one statement. */
  explain(): ByOperation<WriteExplanation> {
    return byName(WRITES, (operation) => {
      const found = this.#reasonsNow(operation);
      return { oneStatement: found.length === 0, reasons: found.map(({ text }) => text) };
    });
  }

  /** Tells why requests may need a transaction for an operation, as far as that is known before the first one. */
  transactionReasons(operation: WriteOperation): readonly string[] {
    const now = this.#reasonsNow(operation).filter(({ kind }) => kind !== 'passing');
    const foreseen = this.#reasons[operation].filter(({ kind }) => kind === 'foreseen');
    return [...now, ...foreseen].map(({ text }) => text);
  }

  isHeard(operation: WriteOperation): boolean {
    const { orm, meta } = this.#view;
    const events = orm.em.getEventManager();
    const { size } = events.getSubscribers();
    if (this.#subscribers?.count !== size) {
      this.#subscribers = { count: size, hear: byName(WRITES, (each) => isHeard(events, meta, each)) };
    }
    return this.#subscribers.hear[operation];
  }

  /** @internal */
  learnTriggers(tables: ReadonlySet<string>): void {
    this.#hasTriggers = tables.has(this.#view.meta.tableName.toLowerCase());
  }

  /** The reasons of a request that chooses nothing and that every permission lets through. */
  #reasonsNow(operation: WriteOperation): readonly WriteReason[] {
    const { orm, answers } = this.#view;
    const usual: Write = {
      em: orm.em,
      grant: undefined,
      condition: operation === 'create' ? undefined : always,
      filters: undefined,
      data: {},
      answer: operation === 'destroy' ? undefined : answers.defaultFor(operation),
      comparesLocked: false,
    };
    return this.#reasons[operation].filter(
      ({ kind, applies }) => kind !== 'foreseen' && kind !== 'unforeseen' && applies(usual),
    );
  }
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
    for (const operation of WRITES) {
      const { oneStatement, reasons } = explanation[operation];
      if (!oneStatement) log.debug({ view: plan.name, operation, reasons }, 'this write takes more than one statement');
    }
  }
}
