import {
  isRaw,
  type EntityManager,
  type EntityMetadata,
  type EntityProperty,
  type FormulaTable,
} from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import { fieldType } from '../../fields/field-type.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import type { Condition } from '../../query/language/condition.ts';
import { isNativePath, nativeForm, type NativePath } from '../../query/language/native-term.ts';
import { isRelatedPath, type RelatedPath } from '../../query/language/related-path.ts';
import type { RelatedFilters } from '../entity-filters.ts';
import { Scope } from '../scope.ts';
import { tieOf } from '../tie.ts';
import { VALUE } from './dialects/comparison.ts';
import { quoted } from './dialects/dialect.ts';
import { type EntityPlan, schemaOf, tableSql } from './entity-plan.ts';
import { SqlText } from './sql-text.ts';

/** The state that all scopes of a statement share. */
export interface CompileContext {
  readonly em: EntityManager;
  readonly plan: EntityPlan;
  readonly related: RelatedFilters | undefined;
  readonly aliases: { next: number };
  /** Writes a condition on the records of a scope. */
  writeCondition(this: void, out: SqlText, scope: SqlScope, condition: Condition): void;
  /** Writes the value that related records give to a record of a scope. */
  writeAggregate(this: void, scope: SqlScope, path: RelatedPath): SqlText;
}

interface Joined {
  readonly alias: string;
  readonly meta: EntityMetadata;
  /** True if every record of the scope has a joined record. */
  readonly always: boolean;
}

/** One select with its table and its joined to-one relations. */
export class SqlScope extends Scope<SqlScope, Joined> {
  readonly context: CompileContext;
  readonly alias: string;
  protected readonly root: Joined;
  readonly #joins: SqlText;

  /**
   * @param prefix the path from the root of the statement to here, with a dot at its end; empty at the root
   * @param sharedScope the scope whose records this separate scope shares
   */
  constructor(context: CompileContext, meta: EntityMetadata, alias: string, prefix: string, sharedScope?: SqlScope) {
    super(meta, context.related, prefix, sharedScope);
    this.context = context;
    this.alias = alias;
    this.root = { alias, meta, always: true };
    this.#joins = sharedScope === undefined ? new SqlText() : sharedScope.#joins;
  }

  /** Returns `table alias join …`. Call it after all columns have been requested. */
  from(): SqlText {
    return new SqlText().add(`${this.table(this.meta)} ${this.alias}`).append(this.#joins);
  }

  /** Returns the value at the end of a path of to-one relations. */
  value(path: FieldPath): SqlText {
    if (isRelatedPath(path)) return this.context.writeAggregate(this, path);
    if (isNativePath(path)) return this.term(path.native);
    const { steps, property, isStored } = path;
    return new SqlText().add(isStored === true ? this.storedColumn(steps, property) : this.column(steps, property));
  }

  /** Returns a term about the record, in parentheses. */
  term({ term, values }: NativePath['native']): SqlText {
    const database = this.context.plan.dialect.name;
    const sql = nativeForm(term, 'sql')({ alias: this.alias, value: VALUE, database });
    return new SqlText().add(`(${sql})`, values);
  }

  get isJoined(): boolean {
    return this.#joins.sql !== '';
  }

  table(meta: EntityMetadata): string {
    return tableSql(this.context.plan, this.context.em, meta);
  }

  protected makeFilterScope(prefix: string): SqlScope {
    return new SqlScope(this.context, this.meta, this.alias, prefix, this);
  }

  protected columnIn({ alias, meta, always }: Joined, property: EntityProperty): string {
    if (property.formula !== undefined) {
      const sql = formulaSql(this.context, meta, alias, property);
      // A formula may have a value for a missing record, because it may read no column of it.
      const [key] = meta.getPrimaryProp().fieldNames as [string];
      return always ? sql : `(case when ${alias}.${quoted(key)} is not null then ${sql} end)`;
    }
    const [name, ...others] = property.fieldNames;
    if (name !== undefined && others.length === 0) return `${alias}.${quoted(name)}`;
    throw new ImproperlyConfigured(`${meta.className}: "${property.name}" is not kept in one column`);
  }

  /** The database guarantees that a record exists, except for the columns of a view. */
  protected override isHeld(steps: readonly EntityProperty[]): boolean {
    const owner = steps.at(-2)?.targetMeta ?? this.meta;
    return super.isHeld(steps) && (owner.view ?? false) === false && this.context.plan.hasConstraints;
  }

  protected addJoin(steps: readonly EntityProperty[]): Joined {
    const step = steps.at(-1) as EntityProperty;
    const parent = this.join(steps.slice(0, -1));
    const meta = step.targetMeta as EntityMetadata;
    const alias = nextAlias(this.context);
    const filter = this.filterOf(steps);
    const always = parent.always && step.nullable !== true && (filter?.required ?? this.isHeld(steps));
    const joined = new SqlScope(this.context, meta, alias, `${this.keyOf(steps)}.`);
    const { columns, ownerColumns } = tieOf(step);
    const on = new SqlText().add(equalSql(alias, columns, parent.alias, ownerColumns));
    if (filter !== undefined) {
      on.add(' and (');
      this.context.writeCondition(on, joined, filter.condition);
      on.add(')');
    }
    const join = new SqlText().add(` ${always ? 'inner' : 'left'} join `);
    // Joins of the filter's relations come before the join of the record.
    if (joined.isJoined) join.add('(').append(joined.from()).add(')');
    else join.append(joined.from());
    join.add(' on ').append(on);
    this.#joins.append(join);
    return { alias, meta, always };
  }
}

/** Writes `a.x = b.y` for each pair of columns. */
export function equalSql(
  left: string,
  leftColumns: readonly string[],
  right: string,
  rightColumns: readonly string[],
): string {
  const pairs = leftColumns.map(
    (name, index) => `${left}.${quoted(name)} = ${right}.${quoted(rightColumns[index] ?? '')}`,
  );
  return pairs.join(' and ');
}

/** Returns an alias that is unique in the statement. */
export function nextAlias(context: CompileContext): string {
  return `t${context.aliases.next++}`;
}

/**
 * Returns the SQL of a formula property. It calls the formula with the columns and the table like MikroORM, but with
 * quoted columns.
 */
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
  const text = `(${isRaw(sql) ? em.getPlatform().formatQuery(sql.sql, sql.params) : String(sql)})`;
  return plan.dialect.formula(fieldType(property).kind, text);
}
