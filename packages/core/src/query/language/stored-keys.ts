import { type FieldPath, storedPath } from '../../fields/field-path.ts';
import { ownsColumn } from '../../fields/property.ts';
import { and, type Condition, not, or, some } from './condition.ts';
import { getOrMake } from '../../support/get-or-make.ts';

type Compare = Extract<Condition, { kind: 'compare' }>;

/**
 * Rewrites lookups to use stored foreign keys, like `em.find`. Then a reference to a record that a MikroORM filter
 * hides is not NULL. Lookups of clients read it as NULL, as in responses. But a scope for records without a reference
 * must not show references to hidden records.
 */
export function byStoredKeys(condition: Condition): Condition {
  switch (condition.kind) {
    case 'compare':
      return { ...condition, path: storedKey(condition) };
    case 'and':
      return and(...condition.conditions.map(byStoredKeys));
    case 'or':
      return or(...condition.conditions.map(byStoredKeys));
    case 'not':
      return not(byStoredKeys(condition.condition));
    case 'some':
      return some(condition.steps, byStoredKeys(condition.condition));
    default:
      return condition;
  }
}

/** The foreign keys on the referring record, by the paths to the keys of the related records. */
const foreignKeys = new WeakMap<FieldPath, FieldPath>();

/** In MikroORM, a related record without a key means that the foreign key is NULL. */
function storedKey({ path, lookup, value }: Compare): FieldPath {
  const last = path.steps.at(-1);
  const isAlwaysFalse = lookup === 'isnull' && value === true && path.property.primary === true;
  if (!isAlwaysFalse || last === undefined || !ownsColumn(last)) return storedPath(path);
  return getOrMake(foreignKeys, path, () =>
    Object.freeze({ ...path, steps: path.steps.slice(0, -1), property: last, isStored: true }),
  );
}
