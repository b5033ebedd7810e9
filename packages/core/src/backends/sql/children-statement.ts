import type { FieldPath } from '../../fields/field-path.ts';
import type { RelatedProjection } from '../../query/language/projection.ts';
import { COLUMN, type Comparison } from './dialects/comparison.ts';
import type { Bound } from './dialects/reader.ts';
import { isPlainText } from './dialects/text-column.ts';
import { selectionSql } from './selection.ts';
import { SqlText } from './sql-text.ts';
import { orderSql, type SqlQuestion, rootScope, whereText } from './statement.ts';
import { StatementShape } from './statement-shape.ts';
import { tiedFrom, tieSql } from './tie-sql.ts';

/**
 * `select …, "author_id" as owner from "book" where "author_id" = any($1) order by …`: the children of several records,
 * in order. Each row has the owner's key after its columns. The text is the same for any number of records. It is
 * written once for its shape.
 *
 * The database may consider keys equal although their texts differ (citext, `nocase`). These keys cannot identify
 * owners. Instead, each row then has the positions of its owners in `keys`, which `rowsByKey` reads.
 */
export function bindChildren(
  question: SqlQuestion,
  related: RelatedProjection,
  columns: readonly FieldPath[],
  keys: readonly unknown[],
): Bound {
  const { plan, query, condition, related: filters } = question;
  const { dialect } = plan;
  const isOwner = dialect.compare(related.owner, 'in', keys);
  const places = foldsKeys(related) ? dialect.placesOf(related.owner, keys) : undefined;
  const isShapedByClient = isOwner.values.length > 1;
  const write = (): Bound => writeChildren(question, related, columns, { isOwner, places, isShapedByClient });
  if (filters !== undefined || places !== undefined) return write();
  const kind = `children ${related.limit ?? 'all'}${related.asAdded === true ? ' as added' : ''}`;
  const shape = new StatementShape(plan, kind, isShapedByClient);
  shape.addRelation(related);
  shape.addColumns(columns);
  if (related.limit !== undefined) shape.addOrder(query.order.total);
  shape.addComparison(related.owner, isOwner);
  shape.addCondition(condition);
  if (related.limit === undefined) shape.addOrder(query.order.total);
  return shape.bind(write);
}

/** Replaces each row by one row for each of its owners, with the owner's key from `keys`. */
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

/** The comparisons that decide the owner of a row. */
interface OwnedBy {
  readonly isOwner: Comparison;
  /** The positions of the owners. Undefined if the owner's key identifies it. */
  readonly places: Comparison | undefined;
  readonly isShapedByClient: boolean;
}

function writeChildren(
  { em, plan, query, condition, related: filters }: SqlQuestion,
  { relation, owner, limit, asAdded }: RelatedProjection,
  columns: readonly FieldPath[],
  { isOwner, places, isShapedByClient }: OwnedBy,
): Bound {
  const { dialect } = plan;
  const scope = rootScope(em, plan, filters);
  const tie = tieSql(scope, relation);
  const [column] = tie.columns as [string];
  const tied = [isOwner.template.split(COLUMN).join(column), ...(tie.on === undefined ? [] : [tie.on])];
  const where = whereText(scope, condition, tied);
  const order = orderSql(scope, query.order.total, asAdded === true ? tie.place : undefined);
  const text = new SqlText().add('select ');
  if (columns.length > 0) text.append(selectionSql(scope, columns)).add(', ');
  const named = places ?? { template: dialect.selected(owner, COLUMN), values: [] };
  text.addAbout(new SqlText().add(column), named).add(' as owner');
  if (limit !== undefined) text.add(`, row_number() over (partition by ${column}`).append(order).add(') as place');
  text.add(' from ').append(tiedFrom(tie, scope));
  text.add('', isOwner.values).append(where);
  const complete = limit === undefined ? text.append(order) : firstOfEach(text, columns.length, limit);
  return complete.bound(dialect, { isShapedByClient });
}

/** Limits the rows to the first children of each owner. */
function firstOfEach(text: SqlText, width: number, limit: number): SqlText {
  const columns = Array.from({ length: width }, (_, index) => `c${index}`);
  return new SqlText()
    .add(`select ${[...columns, 'owner'].join(', ')} from (`)
    .append(text)
    .add(`) ranked where place <= ${limit} order by place`);
}
