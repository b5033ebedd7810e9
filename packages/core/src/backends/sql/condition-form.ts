import type { EntityManager } from '@mikro-orm/core';
import type { Condition } from '../../language/condition.ts';
import type { Dialect } from './dialects/dialect.ts';
import { keysetKey, keysetValues } from './keyset-sql.ts';
import { matchingSql } from './matching-sql.ts';
import type { Form } from './statement-cache.ts';

/**
 * Goes on in the tree of forms by what of a condition decides the text of its SQL; the values that the text binds are
 * added to `values`, in its order. It walks the condition as `conditionSql` does, and costs a fraction of it: a text that
 * is known is not made again.
 */
export function conditionForm(
  em: EntityManager,
  dialect: Dialect,
  condition: Condition,
  values: unknown[],
  before: Form,
): Form {
  switch (condition.kind) {
    case 'constant':
      return before.step(condition.value);
    case 'and':
    case 'or': {
      let form = before.step(condition.kind);
      for (const inner of condition.conditions) form = conditionForm(em, dialect, inner, values, form);
      return form.step('end');
    }
    case 'not':
      return conditionForm(em, dialect, condition.condition, values, before.step('not'));
    case 'compare': {
      const comparison = dialect.compare(condition.path, condition.lookup, condition.value);
      for (const value of comparison.values) values.push(value);
      return before.step(condition.path).step(comparison.template);
    }
    case 'after':
      for (const value of keysetValues(dialect, condition.keys, condition.values)) values.push(value);
      return before.step('after').step(keysetKey(condition.keys, condition.values));
    case 'matching': {
      const comparison = matchingSql(em, condition);
      for (const value of comparison.values) values.push(value);
      return before.step('matching').step(comparison.template);
    }
  }
}
