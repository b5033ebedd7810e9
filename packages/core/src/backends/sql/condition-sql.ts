import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { isToMany } from '../../fields/property.ts';
import { acrossRelations } from '../../language/across-relations.ts';
import type { Condition } from '../../language/condition.ts';
import { primaryKey } from '../../fields/primary-key.ts';
import { COLUMN, type Comparison } from './dialects/comparison.ts';
import { quoted } from './dialects/dialect.ts';
import { discriminatorSql } from './entity-plan.ts';
import { keysetSql } from './keyset-sql.ts';
import { matchingSql } from './matching-sql.ts';
import { nextAlias, SqlScope } from './scope.ts';
import { SqlText, writeChain } from './sql-text.ts';
import { tiedFrom, tieSql } from './tie-sql.ts';

/** Writes a condition on the records of a scope, and the values that it binds: the one walk over its tree. */
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
      // Not "not": what is unknown because of a NULL is not true.
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
    case 'unchanged': {
      const { path, raw } = condition;
      writeComparison(out, scope, path, scope.context.plan.dialect.unchanged(path, raw));
      break;
    }
    case 'some':
      writeSome(out, scope, condition.steps, (where, inner) => writeCondition(where, inner, condition.condition));
      break;
    case 'apart':
      writeCondition(out, scope.apart(condition.place), condition.condition);
      break;
    case 'after':
      out.append(keysetSql(scope, condition));
      break;
    case 'matching': {
      const { meta, steps, converted } = condition;
      checkEntity(steps.at(-1)?.targetMeta ?? scope.meta, meta);
      const said = converted ? undefined : acrossRelations(condition);
      if (said !== undefined) return writeCondition(out, scope, said);
      const { property } = primaryKey(meta);
      writeComparison(
        out,
        scope,
        { steps, property },
        matchingSql(scope.context.em, scope.context.plan.dialect, condition),
      );
    }
  }
}

function writeMember(out: SqlText, scope: SqlScope, condition: Condition, around: 'and' | 'or'): void {
  const isOneTerm = condition.kind === 'compare' || condition.kind === 'unchanged' || condition.kind === 'some';
  if (isOneTerm || condition.kind === around) {
    writeCondition(out, scope, condition);
  } else {
    out.add('(');
    writeCondition(out, scope, condition);
    out.add(')');
  }
}

function checkEntity(meta: EntityMetadata, of: EntityMetadata): void {
  if (of.root === meta.root) return;
  throw new ImproperlyConfigured(`a condition on ${of.className} cannot be asked of ${meta.className}`);
}

/** A column at the end of relations. */
type Column = Pick<FieldPath, 'steps' | 'property' | 'isStored'>;

/** A comparison of the column at the end of a path; through a relation to many, that there is such a record. */
function writeComparison(out: SqlText, scope: SqlScope, column: Column, comparison: Comparison): void {
  const { steps, property, isStored } = column;
  const many = steps.findIndex(isToMany) + 1;
  if (many === 0) {
    const sql = isStored === true ? scope.storedColumn(steps, property) : scope.column(steps, property);
    out.add(comparison.template.split(COLUMN).join(sql), comparison.values);
    return;
  }
  writeSome(out, scope, steps.slice(0, many), (where, inner) =>
    writeComparison(where, inner, { ...column, steps: steps.slice(many) }, comparison),
  );
}

/** Asks if there is a related record that passes, `exists (…)`. The last of the relations that lead there is to many. */
function writeSome(
  out: SqlText,
  scope: SqlScope,
  steps: readonly EntityProperty[],
  write: (where: SqlText, related: SqlScope) => void,
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
  where.add(' and (');
  write(where, inner);
  out.add('exists (select 1 from ').append(tiedFrom(tie, inner)).add(' where ').append(where).add('))');
}
