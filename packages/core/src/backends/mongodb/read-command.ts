import type { EntityManager, EntityMetadata } from '@mikro-orm/core';
import type { Slice } from '../../language/query.ts';
import { collectionOf, commandOptions } from '../../mikro/mongo-collection.ts';
import type { Document } from '../../mikro/mongo-driver.ts';
import { runCommand } from './command.ts';
import type { PageSource } from '../page.ts';
import type { Question, Select } from '../question.ts';
import type { Reading } from '../reading.ts';
import { matchOf, rootScope, saysNothing, sortingOf } from './match.ts';
import { rowFields, type RowFields } from './rows.ts';

/** A question as MongoDB takes it: `find` if its own collection answers it, else `aggregate`. */
interface ReadCommand {
  readonly filter: Document;
  /** The stages between the filter and the slice: lookups, further filters. */
  readonly before: readonly Document[];
  readonly sort: Document | undefined;
  readonly slice: Slice | undefined;
  /** The stages behind the slice: lookups of what is shown alone. */
  readonly after: readonly Document[];
  readonly fields: RowFields;
}

/** The questions that a page is made of, as commands. */
export function pageSource(question: Question, { columns, entityColumns }: Reading<unknown>): PageSource {
  return {
    countsInline: false,
    rows: (slice) => readRows(question, { columns, entityColumns, slice, ordered: true }),
    count: () => countRows(question),
    estimate: () => estimateRows(question),
  };
}

/** Reads the rows of a question. */
export async function readRows(question: Question, select: Select): Promise<unknown[][]> {
  const command = readCommand(question, select);
  const documents = await runRead(question, command);
  return documents.map(command.fields.readRow);
}

function readCommand(question: Question, { columns, entityColumns, key, slice, ordered, one }: Select): ReadCommand {
  const scope = rootScope(question);
  const { own, rest } = matchOf(scope, question, key);
  const sorting = ordered === true ? sortingOf(scope, question.query.order.total) : undefined;
  const before = [...rest, ...scope.takeStages()];
  if (sorting?.added !== undefined) before.push({ $addFields: sorting.added });
  const fields = rowFields(scope, columns, entityColumns);
  const part = one === true ? { offset: slice?.offset ?? 0, limit: 1 } : slice;
  return { filter: own, before, sort: sorting?.sort, slice: part, after: scope.takeStages(), fields };
}

function runRead(question: Question, command: ReadCommand): Promise<Document[]> {
  const { before, after } = command;
  return before.length === 0 && after.length === 0 ? find(question, command) : aggregate(question, command);
}

/** Documents up to this number come in one answer of the server. */
const MAX_BATCH = 1000;

function batchOf(slice: Slice | undefined): Document {
  return slice !== undefined && slice.limit <= MAX_BATCH ? { batchSize: slice.limit } : {};
}

function find({ em, query }: Question, { filter, sort, slice, fields }: ReadCommand): Promise<Document[]> {
  const shown: Document = { projection: fields.projection };
  if (sort !== undefined) shown['sort'] = sort;
  if (slice !== undefined) shown['limit'] = slice.limit;
  if (slice !== undefined && slice.offset > 0) shown['skip'] = slice.offset;
  const options = { ...commandOptions(em), ...shown, ...batchOf(slice) };
  const collection = collectionOf(em, query.meta, 'read');
  return runCommand(em, query.meta, 'find', [filter, shown], () => collection.find(filter, options).toArray());
}

function aggregate(
  question: Question,
  { filter, before, sort, slice, after, fields }: ReadCommand,
): Promise<Document[]> {
  const pipeline: Document[] = saysNothing(filter) ? [] : [{ $match: filter }];
  pipeline.push(...before);
  if (sort !== undefined) pipeline.push({ $sort: sort });
  if (slice !== undefined && slice.offset > 0) pipeline.push({ $skip: slice.offset });
  if (slice !== undefined) pipeline.push({ $limit: slice.limit });
  pipeline.push(...after, { $project: fields.projection });
  return runPipeline(question.em, question.query.meta, pipeline, batchOf(slice));
}

/** Runs stages on the collection of an entity. */
export function runPipeline(
  em: EntityManager,
  meta: EntityMetadata,
  pipeline: readonly Document[],
  options: Document,
): Promise<Document[]> {
  const collection = collectionOf(em, meta, 'read');
  return runCommand(em, meta, 'aggregate', [pipeline], () =>
    collection.aggregate(pipeline, { ...commandOptions(em), ...options }).toArray(),
  );
}

/** Counts the records of a question. */
export async function countRows(question: Question): Promise<number> {
  const { own, rest } = matchOf(rootScope(question), question);
  const pipeline = [{ $match: own }, ...rest, { $count: 'count' }];
  const [found] = await runPipeline(question.em, question.query.meta, pipeline, {});
  return Number(found?.['count'] ?? 0);
}

/** The number of a collection's documents as MongoDB keeps it, if that is asked for; else counts. No transaction has it. */
export async function estimateRows(question: Question): Promise<number> {
  const { em, query } = question;
  const { own, rest } = matchOf(rootScope(question), question);
  if (!saysNothing(own) || rest.length > 0 || em.isInTransaction()) return countRows(question);
  return collectionOf(em, query.meta, 'read').estimatedDocumentCount(commandOptions(em));
}
