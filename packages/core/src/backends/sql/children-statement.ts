import type { FieldPath } from '../../fields/field-path.ts';
import type { RelatedProjection } from '../../language/projection.ts';
import { COLUMN, type Comparison } from './dialects/comparison.ts';
import { keepValues, type WrittenSelect } from './entity-plan.ts';
import type { Bound } from './dialects/reader.ts';
import { isPlainText } from './dialects/text-column.ts';
import { selectionSql } from './selection.ts';
import { SqlText } from './sql-text.ts';
import { orderSql, type SqlQuestion, rootScope, whereText } from './statement.ts';
import { tiedFrom, tieSql } from './tie-sql.ts';

/**
 * `select …, "author_id" as owner from "book" where "author_id" = any($1) order by …`: the children of several records, each with
 * the key of its owner behind its columns, and its values. The text is the same for any number of records, so that it is written
 * once. If a filter is on, it is another one each time.
 *
 * Keys that the database may hold equal although their texts are not (citext, `nocase`) are no keys to tell owners apart by: in their place each row has
 * the places of its owners among `keys`, which `rowsByKey` reads.
 */
export function bindChildren(
  question: SqlQuestion,
  related: RelatedProjection,
  columns: readonly FieldPath[],
  keys: readonly unknown[],
): Bound {
  const { plan, query, condition, related: filters } = question;
  const isOwner = plan.dialect.compare(related.owner, 'in', keys);
  const isSettled = condition === query.condition && filters === undefined && isOwner.values.length === 1;
  if (foldsKeys(related)) {
    const places = plan.dialect.placesOf(related.owner, keys);
    return writeChildren(question, related, columns, isOwner, places);
  }
  if (!isSettled) return writeChildren(question, related, columns, isOwner);
  const known = plan.selects.get(query, columns, () => []);
  const written = (known[0] ??= keepValues(writeChildren(question, related, columns, isOwner), isOwner.values.length));
  return { statement: written.statement, values: [...written.before, ...isOwner.values, ...written.behind] };
}

/** Puts a row for each of its owners in the place of each row, with the owner's key as it was asked for. */
export function rowsByKey(
  related: RelatedProjection,
  rows: unknown[][],
  width: number,
  keys: readonly unknown[],
): unknown[][] {
  if (!foldsKeys(related)) return rows;
  return rows.flatMap((row) => {
    const places = JSON.parse(row[width] as string) as number[];
    return places.map((place) => [...row.slice(0, width), keys[place - 1]]);
  });
}

function foldsKeys({ owner, readKey }: RelatedProjection): boolean {
  return owner.type.kind === 'string' && readKey === undefined && !isPlainText(owner);
}

function writeChildren(
  { em, plan, query, condition, related: filters }: SqlQuestion,
  { relation, owner, limit }: RelatedProjection,
  columns: readonly FieldPath[],
  isOwner: Comparison,
  places?: Comparison,
): WrittenSelect {
  const { dialect } = plan;
  const scope = rootScope(em, plan, filters);
  const tie = tieSql(scope, relation);
  const [column] = tie.columns as [string];
  const tied = [isOwner.template.split(COLUMN).join(column), ...(tie.on === undefined ? [] : [tie.on])];
  const where = whereText(scope, condition, tied);
  const order = orderSql(scope, query.order.total);
  const text = new SqlText().add('select ');
  if (columns.length > 0) text.append(selectionSql(scope, columns)).add(', ');
  const named = places ?? { template: dialect.selected(owner, COLUMN), values: [] };
  text.addAbout(new SqlText().add(column), named).add(' as owner');
  if (limit !== undefined) text.add(`, row_number() over (partition by ${column}`).append(order).add(') as place');
  text.add(' from ').append(tiedFrom(tie, scope));
  const before = text.values.length;
  text.add('', isOwner.values).append(where);
  const sql = limit === undefined ? text.append(order) : firstOfEach(text, columns.length, limit);
  const statement = { sql: sql.numberValues(dialect), one: false, isShapedByClient: isOwner.values.length > 1 };
  return { statement, values: sql.values, before };
}

/** Keeps the first children of each owner. */
function firstOfEach(text: SqlText, width: number, limit: number): SqlText {
  const columns = Array.from({ length: width }, (_, index) => `c${index}`);
  return new SqlText()
    .add(`select ${[...columns, 'owner'].join(', ')} from (`)
    .append(text)
    .add(`) ranked where place <= ${limit} order by place`);
}
