import type { EntityManager } from '@mikro-orm/core';
import type { Condition } from '../condition.ts';
import type { Dialect } from '../dialects/dialect.ts';
import { keysetKey, keysetValues } from './keyset-sql.ts';
import { matchingSql } from './matching-sql.ts';

/**
 * What of a condition decides the text of its SQL; the values that the text binds are added to `values`, in its order.
 * It walks the tree as `conditionSql` does, and costs a fraction of it: a text that is known is not made again.
 */
export function conditionKey(em: EntityManager, dialect: Dialect, condition: Condition, values: unknown[]): string {
  switch (condition.kind) {
    case 'constant':
      return condition.value ? '1' : '0';
    case 'and':
    case 'or': {
      let key = condition.kind === 'and' ? '&(' : '|(';
      for (const inner of condition.conditions) key += conditionKey(em, dialect, inner, values);
      return `${key})`;
    }
    case 'not':
      return `!(${conditionKey(em, dialect, condition.condition, values)})`;
    case 'compare': {
      const comparison = dialect.compare(condition.path, condition.lookup, condition.value);
      for (const value of comparison.values) values.push(value);
      return `${condition.path.key}:${comparison.template};`;
    }
    case 'after':
      for (const value of keysetValues(dialect, condition.keys, condition.values)) values.push(value);
      return `>(${keysetKey(condition.keys, condition.values)})`;
    case 'matching': {
      const comparison = matchingSql(em, condition);
      for (const value of comparison.values) values.push(value);
      return `@(${comparison.template})`;
    }
  }
}
