import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../language/condition.ts';
import { isNativePath } from '../../language/native-term.ts';
import type { OrderKey } from '../../language/order.ts';
import type { RelatedProjection } from '../../language/projection.ts';
import { countedRecords, isRelatedPath } from '../../language/related-path.ts';
import { COLUMN, type Comparison, VALUE } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';
import { keysetValues } from './keyset-sql.ts';
import type { Shaped } from './known-texts.ts';
import { MARKS } from './sql-text.ts';

/**
 * Everything that decides the text of a statement, and its values in the order of the text. Two statements of one shape differ in nothing
 * but their values, so the text is written once (`KnownTexts`).
 */
export class StatementShape implements Shaped {
  readonly values: unknown[] = [];
  readonly isShapedByClient: boolean;
  readonly #dialect: Dialect;
  #key: string;
  #isWhole = true;

  /** @param kind tells apart the statements that have the same paths and conditions */
  constructor(dialect: Dialect, kind: string, isShapedByClient: boolean) {
    this.#dialect = dialect;
    this.#key = kind + END;
    this.isShapedByClient = isShapedByClient;
  }

  /** The text that all statements of this shape share; undefined if more decides, such as a condition in MikroORM's own words. */
  get key(): string | undefined {
    return this.#isWhole ? this.#key : undefined;
  }

  /** Adds a piece of SQL without values. */
  addText(sql: string): void {
    this.#key += sql + END;
  }

  /** Adds a relation to many, and the key of the owner that ties its records to it. */
  addRelation({ relation, owner }: Pick<RelatedProjection, 'relation' | 'owner'>): void {
    this.#key += idOf(relation) + idOf(owner) + END;
  }

  /** Adds columns that are read. */
  addColumns(paths: readonly FieldPath[]): void {
    let known = columnKeys.get(paths);
    if (known === undefined) columnKeys.set(paths, (known = paths.some(isComputed) ? null : paths.map(idOf).join()));
    if (known === null) {
      for (const path of paths) this.#addUse(path, this.#dialect.selected(path, COLUMN));
    } else this.#key += known + END;
  }

  addOrder(order: readonly OrderKey[]): void {
    for (const { path, descending } of order) {
      this.#key += descending ? '-' : '+';
      if (isComputed(path)) this.#addUse(path, this.#dialect.ordered(path, COLUMN, descending));
      else this.#key += idOf(path);
    }
    this.#key += END;
  }

  /** Adds a condition, in the order in which `writeCondition` binds its values. */
  addCondition(condition: Condition): void {
    switch (condition.kind) {
      case 'constant':
        this.#key += condition.value ? 'T' : 'F';
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
        this.#key += condition.kind === 'and' ? '&(' : '|(';
        for (const part of condition.conditions) this.addCondition(part);
        this.#key += ')';
        break;
      case 'not':
        this.#key += '!';
        this.addCondition(condition.condition);
        break;
      case 'some':
        this.#key += `?${condition.steps.map(idOf).join()}${END}`;
        this.addCondition(condition.condition);
        break;
      case 'after':
        this.#addPlace(condition);
        break;
      case 'native':
        this.#key += `:${idOf(condition.term)}${END}`;
        this.addValues(condition.values);
        break;
      default:
        this.#isWhole = false;
    }
  }

  /** Adds a comparison of a column, which may be one that is computed. */
  addComparison(path: FieldPath, { template, values }: Comparison): void {
    if (isComputed(path)) return this.#addUse(path, template, values);
    this.#key += idOf(path) + template + END;
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

  #addUse(path: FieldPath, template: string, values: readonly unknown[] = []): void {
    const told = this.#addSource(path);
    let next = 0;
    for (const piece of template.split(MARKS)) {
      if (piece === COLUMN) this.addValues(told);
      else if (piece === VALUE) this.values.push(values[next++]);
    }
    this.#key += template + END;
  }

  /** Adds the source of a value, and returns the values that stand wherever its SQL mentions it: those of what computes it. */
  #addSource(path: FieldPath): readonly unknown[] {
    if (isNativePath(path)) {
      this.#key += idOf(path.native.term);
      return path.native.values;
    }
    if (!isRelatedPath(path)) {
      this.#key += idOf(path);
      return [];
    }
    const { steps, tells } = path.related;
    this.#key += `${tells}${steps.map(idOf).join()}${END}`;
    const from = this.values.length;
    this.addCondition(countedRecords(path));
    return this.values.splice(from);
  }

  #addPlace(place: Extract<Condition, { kind: 'after' }>): void {
    const told = place.keys.map(({ path, descending }, index) => {
      this.#key += (descending ? '-' : '+') + ((place.values[index] ?? null) === null ? 'N' : 'V');
      return this.#addSource(path);
    });
    this.#key += END;
    this.addValues(keysetValues(this.#dialect, place, told));
  }
}

/** Tells if the SQL of a path binds values of its own. */
function isComputed(path: FieldPath): boolean {
  return isRelatedPath(path) || isNativePath(path);
}

/** Ends a part of a key: no SQL contains it. */
const END = '\u0003';
/** The parts of keys that stand for columns; null if one of them is computed. */
const columnKeys = new WeakMap<readonly FieldPath[], string | null>();
const ids = new WeakMap<object, string>();
let lastId = 0;

/** Numbers the paths and relations, which are resolved once and then shared. */
function idOf(shared: object): string {
  let id = ids.get(shared);
  if (id === undefined) ids.set(shared, (id = `#${++lastId}`));
  return id;
}
