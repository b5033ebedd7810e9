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

/** A question as MongoDB takes it, without a key and a slice: `find` if its own collection answers it, else `aggregate`. */
interface ReadPlan {
  readonly filter: Document;
  /** The stages behind the filter that keep further documents out. */
  readonly rest: readonly Document[];
  /** The stages between the filter and the slice: those, and lookups of what the order needs. */
  readonly before: readonly Document[];
  readonly sort: Document | undefined;
  /** The stages behind the slice: lookups of what is shown alone. */
  readonly after: readonly Document[];
  readonly fields: RowFields;
}

/** The plans of the queries that come again: of records in their order, and in none. */
const plans = new QueryMemo<{ ordered?: ReadPlan; unordered?: ReadPlan }>();

/** That of a view's own query is made once. If a filter is on, the plan is another one each time. */
function planOf(question: KeyedQuestion, select: Select): ReadPlan {
  if (!isSettled(question) || question.keys !== undefined) return makePlan(question, select);
  const known = plans.get(question.query, select.columns, () => ({}));
  return (known[select.ordered === true ? 'ordered' : 'unordered'] ??= makePlan(question, select));
}

function makePlan(question: Question, { columns, entityColumns, ordered }: Select): ReadPlan {
  const scope = rootScope(question);
  const { own, rest } = matchOf(scope, question);
  const sorting = ordered === true ? sortingOf(scope, question.query.order.total) : undefined;
  const before = [...rest, ...scope.takeStages()];
  if (sorting?.added !== undefined) before.push({ $addFields: sorting.added });
  const fields = rowFields(scope, columns, entityColumns);
  return { filter: own, rest, before, sort: sorting?.sort, after: scope.takeStages(), fields };
}

/** Reads the rows of a question. */
export async function readRows(asked: Question, select: Select): Promise<unknown[][]> {
  const { key, slice, one } = select;
  const question = key === undefined ? await withRelatedKeys(asked, select.ordered === true) : asked;
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

/** Documents up to this number come in one answer of the server. */
const MAX_BATCH = 1000;

/** One more than there may be: a pipeline whose batch is full is asked for more. */
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

/** The questions that a page is made of, as commands. */
export function pageSource(question: KeyedQuestion, { columns, entityColumns }: Reading<unknown>): PageSource {
  const plan = planOf(question, { columns, entityColumns, ordered: true });
  return {
    // A page that a client has narrowed often shows its number, which would be counted in vain. Behind the command that finds keys, no third follows.
    // No transaction has $unionWith.
    countsInline: !question.em.isInTransaction() && (question.query.author === 'view' || question.keys !== undefined),
    rows: (slice, counted) =>
      counted ? readCounted(question, plan, slice) : readBy(question, plan, plan.filter, slice),
    count: () => countBy(question, plan),
    estimate: () => estimateBy(question, plan),
  };
}

/** The field of the number of all records. */
const COUNT = '~count';

/**
 * Reads the rows of a question, each with the number of all records behind its columns, by one command: what it took two for cost
 * the process half as much again. Not by `$facet`, which reads all records and cannot use the index of an order.
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
  // There is none if there are no records, also if the last of them has gone in between.
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
export async function countRows(asked: Question): Promise<number> {
  const question = await withRelatedKeys(asked, false);
  return countBy(question, planOf(question, { columns: NO_COLUMNS, entityColumns: 0 }));
}

async function countBy(question: Question, plan: ReadPlan): Promise<number> {
  const [found] = await runPipeline(question, question.query.meta, countStages(plan), { batchSize: 2 });
  return Number(found?.[COUNT] ?? 0);
}

/** The number of a collection's documents as MongoDB keeps it, if that is asked for; else counts. No transaction has it. */
async function estimateBy(question: Question, plan: ReadPlan): Promise<number> {
  const { em, purpose, query } = question;
  if (!saysNothing(plan.filter) || plan.rest.length > 0 || em.isInTransaction()) return countBy(question, plan);
  return collectionOf(em, query.meta, purpose).estimatedDocumentCount(commandOptions(em));
}
