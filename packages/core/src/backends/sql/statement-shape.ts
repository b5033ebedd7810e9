import { isDeepStrictEqual } from 'node:util';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../language/condition.ts';
import { isNativePath } from '../../language/native-term.ts';
import type { OrderKey } from '../../language/order.ts';
import type { RelatedProjection } from '../../language/projection.ts';
import { countedRecords, isRelatedPath } from '../../language/related-path.ts';
import { COLUMN, type Comparison, VALUE } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Bound } from './dialects/reader.ts';
import { keysetValues } from './keyset-sql.ts';
import type { EntityPlan } from './entity-plan.ts';
import type { Step, TextNode, TextTree } from './known-texts.ts';
import { MARKS } from './sql-text.ts';

/** A larger shape has a long list of values, and hardly comes again. A text is as large as it is long. */
const MAX_SIZE = 2000;
const SIZE_OF_OBJECT = 4;
const NO_STEPS: readonly Step[] = [];

/**
 * Everything that decides the text of a statement, step by step, and its values in the order of the text. Two statements of one shape differ
 * in nothing but their values, so the text is written once. The steps lead through a tree of the texts that are known (`TextTree`).
 */
export class StatementShape {
  readonly values: unknown[] = [];
  readonly #dialect: Dialect;
  readonly #texts: TextTree;
  /** The place that the steps have led to, as far as they are known. */
  #place: TextNode;
  /** The steps from there on. */
  #ahead: Step[] | undefined;
  #size = 0;
  #isWhole = true;

  /**
   * @param kind tells apart the statements that have the same paths and conditions
   * @param isShapedByClient true if clients choose the shape
   */
  constructor({ dialect, texts }: Pick<EntityPlan, 'dialect' | 'texts'>, kind: string, isShapedByClient: boolean) {
    this.#dialect = dialect;
    this.#texts = texts.treeOf(isShapedByClient);
    this.#place = this.#texts.root;
    this.#addStep(kind);
  }

  /** Binds the values to the text, which is written if it is not known. A text is kept only if it binds exactly these values. */
  bind(write: () => Bound): Bound {
    const { values } = this;
    const { statement } = this.#place;
    if (this.#isWhole && this.#ahead === undefined && statement !== undefined) return { statement, values };
    const written = write();
    if (this.#isWhole && this.#size <= MAX_SIZE && isDeepStrictEqual(written.values, values)) {
      this.#texts.keep(this.#place, this.#ahead ?? NO_STEPS, written.statement);
    }
    return written;
  }

  /** Adds a piece of SQL without values. */
  addText(sql: string): void {
    this.#addStep(sql);
  }

  /** Adds a relation to many, and the key of the owner that ties its records to it. */
  addRelation({ relation, owner }: Pick<RelatedProjection, 'relation' | 'owner'>): void {
    this.#addStep(relation);
    this.#addStep(owner);
  }

  /** Adds columns that are read. */
  addColumns(paths: readonly FieldPath[]): void {
    let known = columnKeys.get(paths);
    if (known === undefined) columnKeys.set(paths, (known = paths.some(isComputed) ? null : paths.map(idOf).join()));
    if (known === null) {
      for (const path of paths) this.#addUse(path, this.#dialect.selected(path, COLUMN));
    } else this.#addStep(known);
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
      case 'unchanged':
        this.addComparison(condition.path, this.#dialect.unchanged(condition.path, condition.raw));
        break;
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
        // A condition on another entity is refused when it is written, so it must not find the text of this one.
        this.#addStep(condition.meta);
        this.#addStep(condition.term);
        this.addValues(condition.values);
        break;
      default:
        this.#isWhole = false;
    }
  }

  /** Adds a comparison of a column, which may be one that is computed. */
  addComparison(path: FieldPath, { template, values }: Comparison): void {
    if (isComputed(path)) return this.#addUse(path, template, values);
    this.#addStep(path);
    this.#addStep(template);
    this.addValues(values);
  }

  addValues(values: readonly unknown[]): void {
    for (const value of values) this.values.push(value);
  }

  /** Adds the values from a place on once more, for a text that comes twice. */
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
    const told = this.#addSource(path);
    let next = 0;
    for (const piece of template.split(MARKS)) {
      if (piece === COLUMN) this.addValues(told);
      else if (piece === VALUE) this.values.push(values[next++]);
    }
    this.#addStep(template);
  }

  /** Adds the source of a value, and returns the values that stand wherever its SQL mentions it: those of what computes it. */
  #addSource(path: FieldPath): readonly unknown[] {
    if (isNativePath(path)) {
      this.#addStep(path.native.term);
      return path.native.values;
    }
    if (!isRelatedPath(path)) {
      this.#addStep(path);
      return [];
    }
    const { steps, tells } = path.related;
    this.#addStep(tells);
    for (const step of steps) this.#addStep(step);
    this.#addStep(END);
    const from = this.values.length;
    this.addCondition(countedRecords(path));
    return this.values.splice(from);
  }

  #addPlace(place: Extract<Condition, { kind: 'after' }>): void {
    const told = place.keys.map(({ path, descending }, index) => {
      this.#addStep(descending ? '-' : '+');
      this.#addStep((place.values[index] ?? null) === null ? 'N' : 'V');
      return this.#addSource(path);
    });
    this.#addStep(END);
    this.addValues(keysetValues(this.#dialect, place, told));
  }
}

/** Tells if the SQL of a path binds values of its own. */
function isComputed(path: FieldPath): boolean {
  return isRelatedPath(path) || isNativePath(path);
}

/** Ends a list of steps. No SQL is equal to it. */
const END = '\u0003';
/** One step for a list of columns, whichever array it comes in; null if one of them is computed. */
const columnKeys = new WeakMap<readonly FieldPath[], string | null>();
const ids = new WeakMap<object, string>();
let lastId = 0;

/** Numbers the paths and relations, which are resolved once and then shared. */
function idOf(shared: object): string {
  let id = ids.get(shared);
  if (id === undefined) ids.set(shared, (id = `#${++lastId}`));
  return id;
}
