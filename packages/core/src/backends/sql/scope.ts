import {
  isRaw,
  type EntityManager,
  type EntityMetadata,
  type EntityProperty,
  type FormulaTable,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { isReference, ownsColumn, referredKey } from '../../fields/property.ts';
import type { Condition, PlaceApart } from '../../language/condition.ts';
import { hideAlike, placeApart, type RelatedFilter, type RelatedFilters } from '../entity-filters.ts';
import { quoted } from './dialects/dialect.ts';
import { type EntityPlan, schemaOf, tableSql } from './entity-plan.ts';
import { SqlText } from './sql-text.ts';

/** The state that the scopes of one statement share. */
export interface CompileContext {
  readonly em: EntityManager;
  readonly plan: EntityPlan;
  readonly related: RelatedFilters | undefined;
  readonly aliases: { next: number };
  /** Writes a condition on the records of a scope. */
  writeCondition(this: void, out: SqlText, scope: Scope, condition: Condition): void;
}

interface Joined {
  readonly alias: string;
  readonly meta: EntityMetadata;
  /** True if every record of the scope has one. */
  readonly always: boolean;
}

/** One select with its table and the to-one relations joined to it: one join for a relation, whoever needs it. */
export class Scope {
  readonly context: CompileContext;
  readonly meta: EntityMetadata;
  readonly alias: string;
  readonly #prefix: string;
  #joined: Map<string, Joined> | undefined;
  readonly #joins: SqlText;
  readonly #whole: Scope | undefined;
  #apart: Partial<Record<PlaceApart, Scope>> | undefined;

  /**
   * @param prefix the path that leads here from the root of the statement, with a dot at its end; empty at the root
   * @param whole the scope that this is a place apart of
   */
  constructor(context: CompileContext, meta: EntityMetadata, alias: string, prefix: string, whole?: Scope) {
    this.context = context;
    this.meta = meta;
    this.alias = alias;
    this.#prefix = prefix;
    this.#whole = whole;
    this.#joins = whole === undefined ? new SqlText() : whole.#joins;
  }

  /** The same table, with joins of its own to related records of which other ones are hidden. */
  apart(place: PlaceApart): Scope {
    if (this.context.related === undefined) return this;
    const { context, meta, alias } = this;
    return ((this.#apart ??= {})[place] ??= new Scope(context, meta, alias, placeApart(this.#prefix, place), this));
  }

  /** `table alias join …`: complete once all columns have been asked for. */
  from(): SqlText {
    return new SqlText().add(`${this.table(this.meta)} ${this.alias}`).append(this.#joins);
  }

  /** True if a relation was joined. */
  get isJoined(): boolean {
    return this.#joins.sql !== '';
  }

  table(meta: EntityMetadata): string {
    return tableSql(this.context.plan, this.context.em, meta);
  }

  /** The path of relations from the root of the statement. */
  keyOf(steps: readonly EntityProperty[]): string {
    return this.#prefix + namesOf(steps);
  }

  /** The filter that records at the end of a path must pass. */
  filterOf(steps: readonly EntityProperty[]): RelatedFilter | undefined {
    return this.context.related?.get(this.keyOf(steps));
  }

  /** The column of a property at the end of to-one relations. */
  column(steps: readonly EntityProperty[], property: EntityProperty): string {
    const last = steps.at(-1);
    if (
      last !== undefined &&
      this.#isBound(steps) &&
      referredKey(last) === property &&
      this.filterOf(steps) === undefined
    ) {
      return this.column(steps.slice(0, -1), last);
    }
    // A reference to a record that its own filters hide reads as NULL.
    const isHidden = isReference(property) && this.filterOf([...steps, property]) !== undefined;
    return isHidden
      ? this.storedColumn([...steps, property], referredKey(property))
      : this.storedColumn(steps, property);
  }

  /** Joins a path of to-one relations. */
  join(steps: readonly EntityProperty[]): Joined {
    if (steps.length === 0) return { alias: this.alias, meta: this.meta, always: true };
    if (this.#whole !== undefined && hideAlike(this, this.#whole, steps)) return this.#whole.join(steps);
    const key = namesOf(steps);
    let joined = this.#joined?.get(key);
    if (joined === undefined) (this.#joined ??= new Map()).set(key, (joined = this.#addJoin(steps)));
    return joined;
  }

  /** `a.x = b.y`, for each pair of columns. */
  equal(left: string, leftColumns: readonly string[], right: string, rightColumns: readonly string[]): string {
    const pairs = leftColumns.map(
      (name, index) => `${left}.${quoted(name)} = ${right}.${quoted(rightColumns[index] ?? '')}`,
    );
    return pairs.join(' and ');
  }

  /** The column as it is stored, whatever a filter makes of what it refers to. */
  storedColumn(steps: readonly EntityProperty[], property: EntityProperty): string {
    return this.#columnOf(steps.length === 0 ? this : this.join(steps), property);
  }

  #columnOf({ alias, meta }: Pick<Joined, 'alias' | 'meta'>, property: EntityProperty): string {
    if (property.formula !== undefined) {
      return formulaSql(this.context, meta, alias, property);
    }
    const [name, ...others] = property.fieldNames;
    if (name !== undefined && others.length === 0) return `${alias}.${quoted(name)}`;
    throw new ImproperlyConfigured(`${meta.className}: "${property.name}" is not kept in one column`);
  }

  /** True if a foreign key is the key of a record that is there: the database sees to it, but for the columns of a view. */
  #isBound(steps: readonly EntityProperty[]): boolean {
    const step = steps.at(-1) as EntityProperty;
    const owner = steps.at(-2)?.targetMeta ?? this.meta;
    return (
      owner.view !== true && ownsColumn(step) && step.createForeignKeyConstraint && this.context.plan.hasConstraints
    );
  }

  #addJoin(steps: readonly EntityProperty[]): Joined {
    const step = steps.at(-1) as EntityProperty;
    const parent = this.join(steps.slice(0, -1));
    const meta = step.targetMeta as EntityMetadata;
    const alias = nextAlias(this.context);
    const filter = this.filterOf(steps);
    const always = parent.always && step.nullable !== true && (filter?.required ?? this.#isBound(steps));
    const joined = new Scope(this.context, meta, alias, `${this.keyOf(steps)}.`);
    const on = new SqlText().add(this.#link(step, meta, parent.alias, alias));
    if (filter !== undefined) {
      on.add(' and (');
      this.context.writeCondition(on, joined, filter.condition);
      on.add(')');
    }
    const join = new SqlText().add(` ${always ? 'inner' : 'left'} join `);
    // What the filter asks through relations is joined to the record before the record is.
    if (joined.isJoined) join.add('(').append(joined.from()).add(')');
    else join.append(joined.from());
    join.add(' on ').append(on);
    this.#joins.append(join);
    return { alias, meta, always };
  }

  /** By fieldNames: joinColumns of a relation with a `targetKey` are not what its column is called. */
  #link(step: EntityProperty, meta: EntityMetadata, parent: string, alias: string): string {
    if (ownsColumn(step)) return this.equal(alias, step.referencedColumnNames, parent, step.fieldNames);
    const mapped = meta.properties[step.mappedBy] as EntityProperty;
    return this.equal(alias, mapped.fieldNames, parent, mapped.referencedColumnNames);
  }
}

/** An alias that no other table of the statement has. */
export function nextAlias(context: CompileContext): string {
  return `t${context.aliases.next++}`;
}

function namesOf(steps: readonly EntityProperty[]): string {
  return steps.map(({ name }) => name).join('.');
}

/** The SQL of a formula property, given the columns and the table as MikroORM gives them; the columns are quoted. */
function formulaSql(
  { em, plan }: CompileContext,
  meta: EntityMetadata,
  alias: string,
  property: EntityProperty,
): string {
  const columns: Record<string, string> = {};
  for (const { name, fieldNames } of Object.values<EntityProperty>(meta.properties)) {
    if (fieldNames?.[0] !== undefined) columns[name] = `${alias}.${quoted(fieldNames[0])}`;
  }
  Object.defineProperty(columns, 'toString', { value: () => alias, enumerable: false });
  const schema = schemaOf(plan, em, meta);
  const table: FormulaTable = {
    alias,
    name: meta.tableName,
    ...(schema !== undefined && { schema }),
    qualifiedName: schema === undefined ? meta.tableName : `${schema}.${meta.tableName}`,
    toString: () => alias,
  };
  const formula = property.formula as (columns: unknown, table: FormulaTable) => unknown;
  const sql = formula(columns, table);
  return `(${isRaw(sql) ? em.getPlatform().formatQuery(sql.sql, sql.params) : String(sql)})`;
}
