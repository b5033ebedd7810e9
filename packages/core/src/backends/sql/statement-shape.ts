import { isDeepStrictEqual } from 'node:util';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../query/language/condition.ts';
import { isNativePath } from '../../query/language/native-term.ts';
import type { OrderKey } from '../../query/language/order.ts';
import type { RelatedProjection } from '../../query/language/projection.ts';
import { countedRecords, isRelatedPath } from '../../query/language/related-path.ts';
import { COLUMN, type Comparison, VALUE } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Bound } from './dialects/reader.ts';
import { keysetValues } from './keyset-sql.ts';
import type { EntityPlan } from './entity-plan.ts';
import type { Step, TextNode, TextTree } from './known-texts.ts';
import { MARKS } from './sql-text.ts';

/**
 * The largest shape to keep. A larger one has a long list of values and hardly repeats. The size of a text is its
 * length.
 */
const MAX_SIZE = 2000;
const SIZE_OF_OBJECT = 4;
const NO_STEPS: readonly Step[] = [];

/**
 * The shape of a statement: all that decides its text, step by step, and its values in the order of the text.
 * Statements of the same shape differ only in their values, so the text is written once. The steps are a path in the
 * tree of known texts (`TextTree`).
 */
export class StatementShape {
  readonly values: unknown[] = [];
  readonly #dialect: Dialect;
  readonly #texts: TextTree;
  /** The node of the steps so far, as far as the tree has them. */
  #place: TextNode;
  /** The steps after that node. */
  #ahead: Step[] | undefined;
  #size = 0;
  #isComplete = true;

  /**
   * @param kind distinguishes statements with the same paths and conditions
   * @param isShapedByClient true if clients choose the shape
   */
  constructor({ dialect, texts }: Pick<EntityPlan, 'dialect' | 'texts'>, kind: string, isShapedByClient: boolean) {
    this.#dialect = dialect;
    this.#texts = texts.treeOf(isShapedByClient);
    this.#place = this.#texts.root;
    this.#addStep(kind);
  }

  /** Binds the values to the known text, or writes the text. Keeps a new text only if it binds exactly these values. */
  bind(write: () => Bound): Bound {
    const { values } = this;
    const { statement } = this.#place;
    if (this.#isComplete && this.#ahead === undefined && statement !== undefined) return { statement, values };
    const written = write();
    if (this.#isComplete && this.#size <= MAX_SIZE && isDeepStrictEqual(written.values, values)) {
      this.#texts.keep(this.#place, this.#ahead ?? NO_STEPS, written.statement);
    }
    return written;
  }

  /** Adds a piece of SQL without values. */
  addText(sql: string): void {
    this.#addStep(sql);
  }

  /** Adds a to-many relation, and the owner's key that its records refer to. */
  addRelation({ relation, owner }: Pick<RelatedProjection, 'relation' | 'owner'>): void {
    this.#addStep(relation);
    this.#addStep(owner);
  }

  /** Adds columns to read. */
  addColumns(paths: readonly FieldPath[]): void {
    let known = columnKeys.get(paths);
    if (known === undefined) columnKeys.set(paths, (known = paths.some(isComputed) ? null : paths.map(idOf).join()));
    if (known === null) {
      for (const path of paths) this.#addUse(path, this.#dialect.selected(path, COLUMN));
    } else {
      this.#addStep(known);
    }
    this.#addStep(END);
  }

  addOrder(order: readonly OrderKey[]): void {
    for (const { path, descending } of order) {
      this.#addStep(descending ? '-' : '+');
      if (isComputed(path)) this.#addUse(path, this.#dialect.ordered(path, COLUMN, descending));
      else this.#addStep(path);
    }
    this.#addStep(END);
  }

  /** Adds a condition, in the order in which `writeCondition` binds its values. */
  addCondition(condition: Condition): void {
    switch (condition.kind) {
      case 'constant':
        this.#addStep(condition.value ? 'T' : 'F');
        break;
      case 'compare': {
        const { path, lookup, value } = condition;
        this.addComparison(path, this.#dialect.compare(path, lookup, value));
        break;
      }
      case 'and':
      case 'or':
        this.#addStep(condition.kind);
        for (const part of condition.conditions) this.addCondition(part);
        this.#addStep(END);
        break;
      case 'not':
        this.#addStep('!');
        this.addCondition(condition.condition);
        break;
      case 'some':
        this.#addStep('?');
        for (const step of condition.steps) this.#addStep(step);
        this.#addStep(END);
        this.addCondition(condition.condition);
        break;
      case 'after':
        this.#addPlace(condition);
        break;
      case 'native':
        this.#addStep(':');
        // Writing rejects a condition on another entity, so it must not find the text of this one.
        this.#addStep(condition.meta);
        this.#addStep(condition.term);
        this.addValues(condition.values);
        break;
      default:
        this.#isComplete = false;
    }
  }

  /** Adds a comparison of a column, which may be computed. */
  addComparison(path: FieldPath, { template, values }: Comparison): void {
    if (isComputed(path)) return this.#addUse(path, template, values);
    this.#addStep(path);
    this.#addStep(template);
    this.addValues(values);
  }

  addValues(values: readonly unknown[]): void {
    for (const value of values) this.values.push(value);
  }

  /** Adds the values from an index on again, for a text that occurs twice. */
  repeatValues(from: number): void {
    const { length } = this.values;
    for (let index = from; index < length; index++) this.values.push(this.values[index]);
  }

  #addStep(step: Step): void {
    this.#size += typeof step === 'string' ? step.length : SIZE_OF_OBJECT;
    if (this.#ahead === undefined) {
      const next = this.#place.next(step);
      if (next !== undefined) this.#place = next;
      else this.#ahead = [step];
    } else if (this.#size <= MAX_SIZE) {
      this.#ahead.push(step);
    }
  }

  #addUse(path: FieldPath, template: string, values: readonly unknown[] = []): void {
    const bound = this.#addSource(path);
    let next = 0;
    for (const piece of template.split(MARKS)) {
      if (piece === COLUMN) this.addValues(bound);
      else if (piece === VALUE) this.values.push(values[next++]);
    }
    this.#addStep(template);
  }

  /** Adds the source of a value. Returns the values that its SQL binds wherever it occurs. */
  #addSource(path: FieldPath): readonly unknown[] {
    if (isNativePath(path)) {
      this.#addStep(path.native.term);
      return path.native.values;
    }
    if (!isRelatedPath(path)) {
      this.#addStep(path);
      return [];
    }
    const { steps, aggregate } = path.related;
    this.#addStep(aggregate);
    for (const step of steps) this.#addStep(step);
    this.#addStep(END);
    const from = this.values.length;
    this.addCondition(countedRecords(path));
    return this.values.splice(from);
  }

  #addPlace(place: Extract<Condition, { kind: 'after' }>): void {
    const bound = place.keys.map(({ path, descending }, index) => {
      this.#addStep(descending ? '-' : '+');
      this.#addStep((place.values[index] ?? null) === null ? 'N' : 'V');
      return this.#addSource(path);
    });
    this.#addStep(END);
    this.addValues(keysetValues(this.#dialect, place, bound));
  }
}

/** Reports whether the SQL of a path itself binds values. */
function isComputed(path: FieldPath): boolean {
  return isRelatedPath(path) || isNativePath(path);
}

/** Ends a list of steps. It never equals SQL. */
const END = '\u0003';
/** One step for a list of columns, by array. Null if one of them is computed. */
const columnKeys = new WeakMap<readonly FieldPath[], string | null>();
const ids = new WeakMap<object, string>();
let lastId = 0;

/** Returns a unique number for a path or relation. They are resolved once and shared. */
function idOf(shared: object): string {
  let id = ids.get(shared);
  if (id === undefined) ids.set(shared, (id = `#${++lastId}`));
  return id;
}
