import type { FieldPath } from '../../fields/field-path.ts';
import { and, type Condition } from '../../query/language/condition.ts';
import type { JoinedChildren, RecordWithChildren } from '../joined-children.ts';
import type { Bound } from './dialects/reader.ts';
import { nextAlias, SqlScope } from './scope.ts';
import { selectionSql } from './selection.ts';
import { SqlText } from './sql-text.ts';
import { conditionText, orderSql, rootScope, type SqlQuestion, whereText } from './statement.ts';
import { StatementShape } from './statement-shape.ts';
import { tieSql } from './tie-sql.ts';

/**
 * `select … from "account" left join "account_roles" on … left join "role" on … where "id" = ? order by …`: a record
 * and its children of one relation, with a row for each child. It is written once for its shape.
 */
export function bindJoined(
  question: SqlQuestion,
  columns: readonly FieldPath[],
  key: Condition,
  joined: JoinedChildren<SqlQuestion>,
): Bound {
  const { plan, query, condition } = question;
  const { related, question: ofChildren, columns: shown } = joined;
  const write = (): Bound => writeJoined(question, columns, key, joined);
  if (question.related !== undefined || ofChildren.related !== undefined) return write();
  const shape = new StatementShape(plan, 'join', query.author === 'client');
  shape.addRelation(related);
  shape.addColumns(columns);
  shape.addColumns(shown);
  shape.addCondition(ofChildren.condition);
  shape.addCondition(and(key, condition));
  shape.addOrder(ofChildren.query.order.total);
  return shape.bind(write);
}

function writeJoined(
  question: SqlQuestion,
  columns: readonly FieldPath[],
  key: Condition,
  { related, question: ofChildren, columns: shown }: JoinedChildren<SqlQuestion>,
): Bound {
  const { em, plan, condition, query } = question;
  const scope = rootScope(em, plan, question.related);
  const { context } = scope;
  const inner = new SqlScope(
    { ...context, plan: ofChildren.plan, related: ofChildren.related },
    ofChildren.query.meta,
    nextAlias(context),
    '',
  );
  const owner = scope.column(related.owner.steps, related.owner.property);
  const { between, on, columns: tied } = tieSql(inner, related.relation);
  const isOwned = `${String(tied[0])} = ${owner}`;
  const where = whereText(scope, and(key, condition));
  const isChild = conditionText(inner, ofChildren.condition, [on ?? isOwned]);
  const order = orderSql(inner, ofChildren.query.order.total);
  const text = new SqlText().add('select ').append(selectionSql(scope, columns)).add(', ');
  if (shown.length > 0) text.append(selectionSql(inner, shown, columns.length)).add(', ');
  text.add(`${inner.column([], inner.meta.getPrimaryProp())} as child from `).append(scope.from());
  if (between !== undefined) text.add(` left join ${between} on ${isOwned}`);
  const children = inner.from();
  text
    .add(inner.isJoined ? ' left join (' : ' left join ')
    .append(children)
    .add(inner.isJoined ? ')' : '');
  text.add(' on ').append(isChild);
  text.append(where).append(order);
  return text.bound(plan.dialect, { isShapedByClient: query.author === 'client' });
}

/** Splits rows into the record and its children. Undefined if there are no rows. */
export function withChildren(rows: unknown[][], width: number): RecordWithChildren | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const children = rows.filter((row) => row.at(-1) !== null).map((row) => row.slice(width, -1));
  return { row: first.slice(0, width), children };
}
