import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { isToMany } from '../../fields/property.ts';
import { acrossRelations } from '../../query/language/across-relations.ts';
import { type Condition, isAlways } from '../../query/language/condition.ts';
import { primaryKey } from '../../fields/primary-key.ts';
import { countedRecords, type RelatedPath, type RelatedAggregate } from '../../query/language/related-path.ts';
import type { Comparison } from './dialects/comparison.ts';
import { quoted } from './dialects/dialect.ts';
import { discriminatorSql } from './entity-plan.ts';
import { keysetSql } from './keyset-sql.ts';
import { matchingSql } from './matching-sql.ts';
import { nextAlias, SqlScope } from './scope.ts';
import { SqlText, writeChain } from './sql-text.ts';
import { tiedFrom, tieSql } from './tie-sql.ts';

/** Writes a condition on the records of a scope, and the values that it binds. This is the only walk over its tree. */
export function writeCondition(out: SqlText, scope: SqlScope, condition: Condition): void {
  switch (condition.kind) {
    case 'constant':
      out.add(condition.value ? '1 = 1' : '1 = 0');
      break;
    case 'and':
    case 'or':
      if (condition.conditions.length === 0) out.add(condition.kind === 'and' ? '1 = 1' : '1 = 0');
      writeChain(out, condition.conditions, condition.kind, (inner) => writeMember(out, scope, inner, condition.kind));
      break;
    case 'not':
      // Not "not", because that is not true if the condition is unknown because of a NULL.
      out.add('(');
      writeCondition(out, scope, condition.condition);
      out.add(') is not true');
      break;
    case 'compare': {
      const { path, lookup, value } = condition;
      const comparison = scope.context.plan.dialect.compare(path, lookup, value);
      writeComparison(out, scope, path, comparison);
      break;
    }
    case 'some':
      writeRelated(out, scope, condition.steps, 'exists', (where, inner) =>
        writeCondition(where, inner, condition.condition),
      );
      break;
    case 'filterScope':
      writeCondition(out, scope.filterScope(condition.place), condition.condition);
      break;
    case 'after':
      out.append(keysetSql(scope, condition));
      break;
    case 'native':
      checkEntity(scope.meta, condition.meta);
      out.append(scope.term(condition));
      break;
    case 'matching': {
      const { meta, steps, converted } = condition;
      checkEntity(steps.at(-1)?.targetMeta ?? scope.meta, meta);
      const said = converted ? undefined : acrossRelations(condition);
      if (said !== undefined) return writeCondition(out, scope, said);
      const keys = matchingSql(scope.context.em, scope.context.plan.dialect, condition);
      writeComparison(out, scope, { ...primaryKey(meta), steps }, keys);
    }
  }
}

function writeMember(out: SqlText, scope: SqlScope, condition: Condition, around: 'and' | 'or'): void {
  if (ONE_TERM.has(condition.kind) || condition.kind === around) {
    writeCondition(out, scope, condition);
  } else {
    out.add('(');
    writeCondition(out, scope, condition);
    out.add(')');
  }
}

/** The kinds of conditions that need no parentheses in a chain. */
const ONE_TERM: ReadonlySet<Condition['kind']> = new Set(['compare', 'some', 'native']);

function checkEntity(meta: EntityMetadata, of: EntityMetadata): void {
  if (of.root === meta.root) return;
  throw new ImproperlyConfigured(`a condition on ${of.className} cannot be asked of ${meta.className}`);
}

/** Writes a comparison of the value at the end of a path. On a to-many path, writes that a matching record exists. */
function writeComparison(out: SqlText, scope: SqlScope, path: FieldPath, comparison: Comparison): void {
  const many = path.steps.findIndex(isToMany) + 1;
  if (many === 0) {
    out.addAbout(scope.value(path), comparison);
    return;
  }
  writeRelated(out, scope, path.steps.slice(0, many), 'exists', (where, inner) =>
    writeComparison(where, inner, { ...path, steps: path.steps.slice(many) }, comparison),
  );
}

/** Writes the value that related records give to a record of a scope. */
export function writeAggregate(scope: SqlScope, path: RelatedPath): SqlText {
  const { steps, aggregate } = path.related;
  const condition = countedRecords(path);
  const out = new SqlText();
  writeRelated(
    out,
    scope,
    steps,
    aggregate,
    isAlways(condition) ? undefined : (where, inner) => writeCondition(where, inner, condition),
  );
  return out;
}

/**
 * Writes whether a matching related record exists, `exists (…)`, or how many there are. The last of the relations is
 * to-many.
 */
function writeRelated(
  out: SqlText,
  scope: SqlScope,
  steps: readonly EntityProperty[],
  aggregate: RelatedAggregate,
  write: ((where: SqlText, related: SqlScope) => void) | undefined,
): void {
  const { context } = scope;
  const step = steps.at(-1) as EntityProperty;
  const meta = step.targetMeta as EntityMetadata;
  const owner = scope.join(steps.slice(0, -1)).alias;
  const inner = new SqlScope(context, meta, nextAlias(context), `${scope.keyOf(steps)}.`);
  const tie = tieSql(inner, step);
  const { on, columns, ownerColumns } = tie;
  const tied = columns.map((column, index) => `${column} = ${owner}.${quoted(ownerColumns[index] ?? '')}`);
  const where = new SqlText().add([...tied, ...(on === undefined ? [] : [on])].join(' and '));
  const discriminator = discriminatorSql(context.em, meta, inner.alias);
  if (discriminator !== undefined) where.add(` and ${discriminator}`);
  const filter = scope.filterOf(steps);
  if (filter !== undefined) {
    where.add(' and (');
    writeCondition(where, inner, filter.condition);
    where.add(')');
  }
  if (write !== undefined) {
    where.add(' and (');
    write(where, inner);
    where.add(')');
  }
  out.add(`${AGGREGATE_SQL[aggregate]} from `).append(tiedFrom(tie, inner)).add(' where ').append(where).add(')');
}

const AGGREGATE_SQL: Readonly<Record<RelatedAggregate, string>> = {
  exists: 'exists (select 1',
  count: '(select count(*)',
};
