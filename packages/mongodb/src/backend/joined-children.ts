import type { Condition, FieldPath } from '@viewset/core';
import {
  isSettled,
  type JoinedChildren,
  QueryMemo,
  type Question,
  type RecordWithChildren,
} from '@viewset/core/backend';
import type { Document } from '../mikro/mongo-driver.ts';
import { runPipeline } from './command.ts';
import { all, filterOf } from './condition.ts';
import { matchOf, rootScope, sortingOf } from './match.ts';
import { rowFields, type RowFields } from './rows.ts';
import { manyTie } from './tie.ts';

/** The pipeline that reads a record with its children, without the key's filter. */
interface JoinPlan {
  readonly filter: Document;
  /** The stages after the filter. */
  readonly stages: readonly Document[];
  readonly fields: RowFields;
  /** The field that holds the children's documents. */
  readonly children: string;
  readonly childFields: RowFields;
}

/** The plans of repeated queries. */
const plans = new QueryMemo<JoinPlan>();

/** Reads a record and its children of one relation with one command, using `$lookup`. */
export async function readJoined(
  question: Question,
  columns: readonly FieldPath[],
  key: Condition,
  joined: JoinedChildren<Question>,
): Promise<RecordWithChildren | undefined> {
  const { em, query } = question;
  const make = (): JoinPlan => makePlan(question, columns, joined);
  const areSettled = isSettled(question) && isSettled(joined.question);
  const plan = areSettled ? plans.get(query, columns, make) : make();
  const filter = all([filterOf(em, query.meta, key), plan.filter]);
  const pipeline = [{ $match: filter }, ...plan.stages];
  const [document] = await runPipeline(question, query.meta, pipeline, { batchSize: 2 });
  if (document === undefined) return undefined;
  const children = document[plan.children] as Document[];
  return { row: plan.fields.readRow(document), children: children.map(plan.childFields.readRow) };
}

function makePlan(
  question: Question,
  columns: readonly FieldPath[],
  { related, question: ofChildren, columns: shown }: JoinedChildren<Question>,
): JoinPlan {
  const scope = rootScope(question);
  const { ofDocument, rest } = matchOf(scope, question);
  const fields = rowFields(scope, columns);
  const { ownerField, field } = manyTie(related.relation, related.ownerMeta);
  const localField = scope.join(related.owner.steps) + ownerField;
  const inner = childStages(ofChildren, shown);
  const meta = ofChildren.query.meta;
  const children = scope.addLookup({ meta, localField, foreignField: field }, inner.stages);
  const projection = { ...fields.projection, [children]: 1 };
  const stages = [...rest, { $limit: 1 }, ...scope.takeStages(), { $project: projection }];
  return { filter: ofDocument, stages, fields, children, childFields: inner.fields };
}

/** The stages inside the `$lookup`: which children to include, their order, and their fields. */
function childStages(
  question: Question,
  columns: readonly FieldPath[],
): { readonly stages: readonly Document[]; readonly fields: RowFields } {
  const scope = rootScope(question);
  const { ofDocument, rest } = matchOf(scope, question);
  const { added, sort } = sortingOf(scope, question.query.order.total);
  const fields = rowFields(scope, columns);
  const stages = [{ $match: ofDocument }, ...rest, ...scope.takeStages()];
  if (added !== undefined) stages.push({ $addFields: added });
  return { stages: [...stages, { $sort: sort }, { $project: fields.projection }], fields };
}
