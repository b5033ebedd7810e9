import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { ImproperlyConfigured } from '../../errors.ts';
import { fieldPath, isToMany } from '../../fields/field-path.ts';
import type { Condition } from '../../language/condition.ts';
import { COLUMN, type Comparison } from './dialects/dialect.ts';
import { discriminatorSql } from './entity-plan.ts';
import { concat, fragment, joinBalanced, type Fragment } from './fragment.ts';
import { keysetSql } from './keyset-sql.ts';
import { matchingSql } from './matching-sql.ts';
import { nextAlias, Scope } from './scope.ts';

/** The SQL of a condition on the records of a scope. `conditionKey` walks the same tree in the same order. */
export function conditionSql(scope: Scope, condition: Condition): Fragment {
  const { dialect } = scope.context.plan;
  switch (condition.kind) {
    case 'constant':
      return fragment(condition.value ? '1 = 1' : '1 = 0');
    case 'and':
    case 'or': {
      const pieces = condition.conditions.map((inner) => parenthesized(scope, inner, condition.kind));
      return pieces.length === 0
        ? fragment(condition.kind === 'and' ? '1 = 1' : '1 = 0')
        : joinBalanced(pieces, ` ${condition.kind} `);
    }
    case 'not':
      // Not "not": what is unknown because of a NULL is not true.
      return concat(['(', conditionSql(scope, condition.condition), ') is not true']);
    case 'compare': {
      const { path } = condition;
      const comparison = dialect.compare(path, condition.lookup, condition.value);
      return pathSql(scope, path.steps, path.property, comparison);
    }
    case 'after': {
      const columns = condition.keys.map(({ path }) => scope.column(path.steps, path.property));
      return keysetSql(dialect, condition.keys, columns, condition.values);
    }
    case 'matching': {
      checkEntity(scope.meta, condition.meta);
      const pk = fieldPath(scope.meta, scope.meta.primaryKeys[0] as string, '.');
      return pathSql(scope, [], pk.property, matchingSql(scope.context.em, condition));
    }
  }
}

function parenthesized(scope: Scope, condition: Condition, around: 'and' | 'or'): Fragment {
  const sql = conditionSql(scope, condition);
  return condition.kind === 'compare' || condition.kind === around ? sql : concat(['(', sql, ')']);
}

function checkEntity(meta: EntityMetadata, of: EntityMetadata): void {
  if (of.root === meta.root) return;
  throw new ImproperlyConfigured(`a condition on ${of.className} cannot be asked of ${meta.className}`);
}

/** A comparison of the column at the end of a path; through a relation to many, that there is such a record. */
function pathSql(
  scope: Scope,
  steps: readonly EntityProperty[],
  property: EntityProperty,
  comparison: Comparison,
): Fragment {
  const many = steps.findIndex(isToMany);
  if (many >= 0) return existsSql(scope, steps, many, property, comparison);
  return fragment(
    comparison.template.replaceAll(COLUMN, () => scope.column(steps, property)),
    comparison.values,
  );
}

function existsSql(
  scope: Scope,
  steps: readonly EntityProperty[],
  many: number,
  property: EntityProperty,
  comparison: Comparison,
): Fragment {
  const { context } = scope;
  const walked = steps.slice(0, many + 1);
  const step = steps[many] as EntityProperty;
  const meta = step.targetMeta as EntityMetadata;
  const owner = scope.join(steps.slice(0, many)).alias;
  const inner = new Scope(context, meta, nextAlias(context), `${scope.keyOf(walked)}.`);
  const { from, on } = linkSql(inner, step, owner);
  const where: Fragment[] = [fragment(on)];
  const discriminator = discriminatorSql(context.plan, context.em, meta, inner.alias);
  if (discriminator !== undefined) where.push(fragment(discriminator));
  const filter = scope.filterOf(walked);
  if (filter !== undefined) where.push(concat(['(', conditionSql(inner, filter.condition), ')']));
  where.push(concat(['(', pathSql(inner, steps.slice(many + 1), property, comparison), ')']));
  return concat(['exists (select 1 from ', from, inner.from(), ' where ', joinBalanced(where, ' and '), ')']);
}

/** How the records of a relation to many are tied to their owner: by their own foreign key, or by a table between. */
function linkSql(inner: Scope, step: EntityProperty, owner: string): { from: string; on: string } {
  const { context, meta } = inner;
  const mapped = meta.properties[step.mappedBy] as EntityProperty | undefined;
  if (step.pivotEntity === undefined) {
    if (mapped === undefined || mapped.polymorphic) throw unsupported(step);
    return { from: '', on: inner.equal(inner.alias, mapped.joinColumns, owner, mapped.referencedColumnNames) };
  }
  if (step.discriminatorColumn !== undefined || mapped?.discriminatorColumn !== undefined) throw unsupported(step);
  const pivot = context.em.getMetadata().get(step.pivotEntity);
  const alias = nextAlias(context);
  const ownTie = inner.equal(alias, step.joinColumns, owner, step.referencedColumnNames);
  const targetTie = inner.equal(inner.alias, primaryColumns(meta), alias, step.inverseJoinColumns);
  return { from: `${inner.table(pivot)} ${alias}, `, on: `${ownTie} and ${targetTie}` };
}

function primaryColumns(meta: EntityMetadata): string[] {
  return meta.getPrimaryProps().flatMap(({ fieldNames }) => fieldNames);
}

function unsupported(step: EntityProperty): ImproperlyConfigured {
  return new ImproperlyConfigured(`query sets cannot ask through "${step.name}": it is polymorphic`);
}
