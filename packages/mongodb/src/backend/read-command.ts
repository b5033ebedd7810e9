import {
  isSettled,
  NO_COLUMNS,
  type PageSource,
  QueryMemo,
  type Question,
  type Reading,
  type Select,
  type Slice,
} from '@viewset/core/backend';
import { collectionName, collectionOf, commandOptions } from '../mikro/collection.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { runCommand, runPipeline } from './command.ts';
import type { KeyedQuestion } from './keyed-question.ts';
import { withRelatedKeys } from './related-keys.ts';
import { all, filterOf } from './condition.ts';
import { matchOf, rootScope, saysNothing, sortingOf } from './match.ts';
import { rowFields, type RowFields } from './rows.ts';

/**
 * A question compiled for MongoDB, without a key or slice. It is a `find` if its own collection suffices, else an
 * `aggregate`.
 */
interface ReadPlan {
  readonly filter: Document;
  /** The stages after the filter that exclude more documents. */
  readonly rest: readonly Document[];
  /** The stages between filter and slice: `rest`, and lookups for the order. */
  readonly before: readonly Document[];
  readonly sort: Document | undefined;
  /** The stages after the slice: lookups that are only shown. */
  readonly after: readonly Document[];
  readonly fields: RowFields;
}

/** The plans of repeated queries, ordered and unordered. */
const plans = new QueryMemo<{ ordered?: ReadPlan; unordered?: ReadPlan }>();

/** A view's own query is compiled once. A query with filters is compiled every time. */
function planOf(question: KeyedQuestion, select: Select): ReadPlan {
  if (!isSettled(question) || question.keys !== undefined) return makePlan(question, select);
  const known = plans.get(question.query, select.columns, () => ({}));
  return (known[select.ordered === true ? 'ordered' : 'unordered'] ??= makePlan(question, select));
}

function makePlan(question: Question, { columns, entityColumns, ordered }: Select): ReadPlan {
  const scope = rootScope(question);
  const { ofDocument, rest } = matchOf(scope, question);
  const sorting = ordered === true ? sortingOf(scope, question.query.order.total) : undefined;
  const before = [...rest, ...scope.takeStages()];
  if (sorting?.added !== undefined) before.push({ $addFields: sorting.added });
  const fields = rowFields(scope, columns, entityColumns);
  return { filter: ofDocument, rest, before, sort: sorting?.sort, after: scope.takeStages(), fields };
}

/** Reads the rows of a question. */
export async function readRows(given: Question, select: Select): Promise<unknown[][]> {
  const { key, slice, one } = select;
  const question = key === undefined ? await withRelatedKeys(given, select.ordered === true) : given;
  const plan = planOf(question, select);
  const filter = key === undefined ? plan.filter : all([filterOf(question.em, question.query.meta, key), plan.filter]);
  return readBy(question, plan, filter, one === true ? { offset: slice?.offset ?? 0, limit: 1 } : slice);
}

async function readBy(
  question: Question,
  plan: ReadPlan,
  filter: Document,
  slice: Slice | undefined,
): Promise<unknown[][]> {
  const documents =
    plan.before.length === 0 && plan.after.length === 0
      ? await find(question, plan, filter, slice)
      : await runPipeline(question, question.query.meta, stagesOf(plan, filter, slice), batchOf(slice));
  return documents.map(plan.fields.readRow);
}

/** The server sends up to this many documents in one answer. */
const MAX_BATCH = 1000;

/** One more than can come, because the driver asks again after a full batch. */
function batchOf(slice: Slice | undefined): Document {
  return slice !== undefined && slice.limit < MAX_BATCH ? { batchSize: slice.limit + 1 } : {};
}

function find(
  { em, purpose, query }: Question,
  { sort, fields }: ReadPlan,
  filter: Document,
  slice: Slice | undefined,
): Promise<Document[]> {
  const shown: Document = { projection: fields.projection };
  if (sort !== undefined) shown['sort'] = sort;
  if (slice !== undefined) shown['limit'] = slice.limit;
  if (slice !== undefined && slice.offset > 0) shown['skip'] = slice.offset;
  const options = { ...commandOptions(em), ...shown, ...batchOf(slice) };
  const collection = collectionOf(em, query.meta, purpose);
  return runCommand(em, query.meta, 'find', [filter, shown], () => collection.find(filter, options).toArray());
}

function stagesOf({ before, sort, after, fields }: ReadPlan, filter: Document, slice: Slice | undefined): Document[] {
  const stages: Document[] = saysNothing(filter) ? [...before] : [{ $match: filter }, ...before];
  if (sort !== undefined) stages.push({ $sort: sort });
  if (slice !== undefined && slice.offset > 0) stages.push({ $skip: slice.offset });
  if (slice !== undefined) stages.push({ $limit: slice.limit });
  stages.push(...after, { $project: fields.projection });
  return stages;
}

/** Compiles the queries of a page to commands. */
export function pageSource(question: KeyedQuestion, { columns, entityColumns }: Reading<unknown>): PageSource {
  const plan = planOf(question, { columns, entityColumns, ordered: true });
  return {
    // Filtered pages often reveal their count without counting, so counting inline would be wasted. After the command
    // that finds keys, the inline count avoids a third command. Transactions do not allow $unionWith. No transaction
    // has $unionWith.
    countsInline: !question.em.isInTransaction() && (question.query.author === 'view' || question.keys !== undefined),
    rows: (slice, counted) =>
      counted ? readCounted(question, plan, slice) : readBy(question, plan, plan.filter, slice),
    count: () => countBy(question, plan),
    estimate: () => estimateBy(question, plan),
  };
}

/** The field that holds the number of all records. */
const COUNT = '~count';

/**
 * Reads rows with one command, each followed by the number of all records. Two commands cost the process half as much
 * again. It does not use `$facet`, which reads all records and cannot use an index for the order.
 */
async function readCounted(question: Question, plan: ReadPlan, slice: Slice | undefined): Promise<unknown[][]> {
  const { query } = question;
  const counting = { $unionWith: { coll: collectionName(query.meta), pipeline: countStages(plan) } };
  const stages = [...stagesOf(plan, plan.filter, slice), counting];
  const documents = await runPipeline(
    question,
    query.meta,
    stages,
    batchOf(slice && { ...slice, limit: slice.limit + 1 }),
  );
  // Without records there is no count document, also if the last record was deleted meanwhile.
  const count = documents.at(-1)?.[COUNT] === undefined ? 0 : documents.pop()?.[COUNT];
  return documents.map((document) => {
    const row = plan.fields.readRow(document);
    row.push(count);
    return row;
  });
}

function countStages({ filter, rest }: ReadPlan): Document[] {
  return [{ $match: filter }, ...rest, { $count: COUNT }];
}

/** Counts the records of a question. */
export async function countRows(given: Question): Promise<number> {
  const question = await withRelatedKeys(given, false);
  return countBy(question, planOf(question, { columns: NO_COLUMNS, entityColumns: 0 }));
}

async function countBy(question: Question, plan: ReadPlan): Promise<number> {
  const [found] = await runPipeline(question, question.query.meta, countStages(plan), { batchSize: 2 });
  return Number(found?.[COUNT] ?? 0);
}

/**
 * Returns MongoDB's estimate if the question covers the whole collection; otherwise counts. Transactions have no
 * estimate.
 */
async function estimateBy(question: Question, plan: ReadPlan): Promise<number> {
  const { em, purpose, query } = question;
  if (!saysNothing(plan.filter) || plan.rest.length > 0 || em.isInTransaction()) return countBy(question, plan);
  return collectionOf(em, query.meta, purpose).estimatedDocumentCount(commandOptions(em));
}
