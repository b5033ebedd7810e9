import { ImproperlyConfigured } from '../../errors/errors.ts';
import type { FieldPath } from '../../fields/field-path.ts';
import { customTypeOf } from '../../fields/field-type.ts';
import { valueProperty } from '../../fields/property.ts';
import type { SqlScope } from './scope.ts';
import { SqlText } from './sql-text.ts';

/**
 * Writes the columns of a select, `t0."id" as c0, …`. The names do not depend on the table. Without columns it writes
 * `1`.
 *
 * @param first the number in the name of the first column
 * @throws ImproperlyConfigured for a to-many path
 */
export function selectionSql(scope: SqlScope, paths: readonly FieldPath[], first = 0): SqlText {
  const text = new SqlText();
  if (paths.length === 0) return text.add('1');
  for (const [index, path] of paths.entries()) {
    text
      .add(index === 0 ? '' : ', ')
      .append(columnSql(scope, path))
      .add(` as c${first + index}`);
  }
  return text;
}

function columnSql(scope: SqlScope, path: FieldPath): SqlText {
  if (path.toMany) {
    throw new ImproperlyConfigured(`"${path.key}" cannot be read: it has several values for each record`);
  }
  const { em, plan } = scope.context;
  const { hasConvertToJSValueSQL } = valueProperty(path.property);
  const custom = hasConvertToJSValueSQL ? customTypeOf(path.property) : undefined;
  return scope
    .value(path)
    .within((sql) => custom?.convertToJSValueSQL?.(sql, em.getPlatform()) ?? plan.dialect.selected(path, sql));
}
