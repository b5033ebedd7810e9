import type { Group, Grouping, GroupKey, GroupTotal } from '../../query/language/grouping.ts';
import { COLUMN } from './dialects/comparison.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Bound } from './dialects/reader.ts';
import type { SqlScope } from './scope.ts';
import { SqlText } from './sql-text.ts';
import { rootScope, type SqlQuestion, whereText } from './statement.ts';

/** `select "status", count(*), sum("total") from "order" where … group by 1 limit 1001` */
export function bindGrouping({ em, plan, related, condition }: SqlQuestion, grouping: Grouping): Bound {
  const { dialect } = plan;
  const { keys, totals, limit } = grouping;
  const scope = rootScope(em, plan, related);
  // Always guarded, because every record is read, even if the condition has few values.
  const where = whereText(scope, condition, dialect.guard === undefined ? [] : [dialect.guard]);
  const text = new SqlText().add('select ');
  for (const key of keys) text.append(keySql(scope, key)).add(', ');
  text.add('count(*)');
  for (const total of totals) text.add(', ').append(totalSql(scope, total));
  text.add(' from ').append(scope.from()).append(where);
  if (keys.length > 0) text.add(` group by ${keys.map((_, index) => index + 1).join(', ')}`);
  text.add(` limit ${dialect.sliceValue}`, [limit]);
  return text.bound(dialect, { isShapedByClient: true });
}

/**
 * Texts are in one group only if their bytes are equal, regardless of their collation. Otherwise any of several texts
 * could be the key of the group.
 */
function keySql(scope: SqlScope, { path, period, zone }: GroupKey): SqlText {
  const { dialect } = scope.context.plan;
  return scope.value(path).within((sql) => {
    if (period !== undefined) return dialect.startOf(path, sql, period, zone);
    return dialect.selected(path, dialect.toTheByte(path).replaceAll(COLUMN, sql));
  });
}

function totalSql(scope: SqlScope, { path, kind }: GroupTotal): SqlText {
  const { dialect } = scope.context.plan;
  return scope.value(path).within((sql) => {
    if (kind === 'sum') return dialect.sum(path, sql);
    return kind === 'count' ? `count(${sql})` : dialect.selected(path, `${kind}(${sql})`);
  });
}

/** Reads a row of the statement. */
export function groupOf(dialect: Dialect, { keys, totals }: Grouping, row: readonly unknown[]): Group {
  const behind = row.slice(keys.length + 1);
  return {
    keys: row.slice(0, keys.length),
    count: Number(row[keys.length]),
    totals: totals.map(({ path, kind }, index) => {
      const raw = behind[index];
      if (kind === 'count') return Number(raw);
      return kind === 'sum' && raw !== null ? dialect.readSum(path, raw) : raw;
    }),
  };
}
