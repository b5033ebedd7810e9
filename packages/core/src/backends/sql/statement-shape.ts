import { isDeepStrictEqual } from 'node:util';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../language/condition.ts';
import type { OrderKey } from '../../language/order.ts';
import { isRelatedPath } from '../../language/related-path.ts';
import { LruMap } from '../../lru-map.ts';
import type { Comparison } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Bound, Statement } from './dialects/reader.ts';

/**
 * Everything that decides the text of a statement, and its values in the order of the text. Two statements of one shape differ in nothing
 * but their values, so the text is written once (`KnownTexts`).
 */
export class StatementShape {
  readonly values: unknown[] = [];
  readonly #dialect: Dialect;
  #key: string;
  #isWhole = true;

  /** @param kind tells apart the statements that have the same paths and conditions */
  constructor(dialect: Dialect, kind: string) {
    this.#dialect = dialect;
    this.#key = kind;
  }

  /** The text that all statements of this shape share; undefined if more decides, such as a value that related records tell. */
  get key(): string | undefined {
    return this.#isWhole ? this.#key : undefined;
  }

  addPath(path: FieldPath): void {
    if (isRelatedPath(path)) this.#isWhole = false;
    this.#key += `${idOf(path)} `;
  }

  addOrder(order: readonly OrderKey[]): void {
    for (const { path, descending } of order) {
      this.addPath(path);
      if (descending) this.#key += '-';
    }
  }

  /** Adds a condition, in the order in which `writeCondition` binds its values. */
  addCondition(condition: Condition): void {
    switch (condition.kind) {
      case 'constant':
        this.#key += condition.value ? 'T' : 'F';
        break;
      case 'compare':
        this.#addComparison(condition.path, this.#dialect.compare(condition.path, condition.lookup, condition.value));
        break;
      case 'unchanged':
        this.#addComparison(condition.path, this.#dialect.unchanged(condition.path, condition.raw));
        break;
      case 'and':
      case 'or':
        this.#key += condition.kind === 'and' ? '&(' : '|(';
        for (const part of condition.conditions) this.addCondition(part);
        this.#key += ')';
        break;
      case 'not':
        this.#key += '!';
        this.addCondition(condition.condition);
        break;
      case 'some':
        this.#key += '?';
        for (const step of condition.steps) this.#key += `${idOf(step)} `;
        this.addCondition(condition.condition);
        break;
      default:
        this.#isWhole = false;
    }
  }

  #addComparison(path: FieldPath, { template, values }: Comparison): void {
    this.addPath(path);
    this.#key += template + END;
    for (const value of values) this.values.push(value);
  }
}

/** Ends a template: no SQL contains it. */
const END = '\u0003';
/** The texts that are kept for some columns: clients choose filters, orders and the fields that they send. */
const MAX_TEXTS = 100;
/** A longer key comes from a long list of values, and hardly comes again. */
const MAX_KEY_LENGTH = 2000;

/** The statements of an entity whose text comes again with other values. */
export class KnownTexts {
  readonly #byColumns = new WeakMap<object, LruMap<string, Statement>>();

  /**
   * Binds the values of a shape to its text, which is written if it is not known. A text is kept only if it binds exactly these values.
   *
   * @param columns what the statement reads: the same object each time
   */
  bind(columns: object, { key }: StatementShape, values: readonly unknown[], write: () => Bound): Bound {
    if (key === undefined || key.length > MAX_KEY_LENGTH) return write();
    let known = this.#byColumns.get(columns);
    if (known === undefined) this.#byColumns.set(columns, (known = new LruMap(MAX_TEXTS)));
    const statement = known.get(key);
    if (statement !== undefined) return { statement, values };
    const written = write();
    if (isDeepStrictEqual(written.values, values)) known.set(key, written.statement);
    return written;
  }
}

const ids = new WeakMap<object, number>();
let lastId = 0;

/** Numbers the paths and relations, which are resolved once and then shared. */
function idOf(shared: object): number {
  let id = ids.get(shared);
  if (id === undefined) ids.set(shared, (id = ++lastId));
  return id;
}
