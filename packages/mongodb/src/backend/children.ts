import type { FieldPath } from '@viewset/core';
import type { Question, RelatedProjection } from '@viewset/core/backend';
import { collectionName } from '../mikro/collection.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { type Match, matchOf, rootScope, sortingOf } from './match.ts';
import { runPipeline } from './command.ts';
import { plainGetter, rowFields } from './rows.ts';
import { columnOf } from './column.ts';
import type { MongoScope } from './scope.ts';
import { comparedValue } from './stored-value.ts';
import { type ManyTie, manyTie } from './tie.ts';

/** The stages that find the children's documents, once per owner, with the owner's key. */
interface Tied {
  readonly stages: readonly Document[];
  /** The field that holds the owner's key. */
  readonly owner: string;
  /** The field that holds the position in the owner's list. Undefined if no owner has a list. */
  readonly place?: string;
}

/**
 * Reads the children of several records in order, with one command. Each row ends with its owner's key.
 *
 * @param keys the owners' keys as entities hold them
 */
export async function readChildRows(
  question: Question,
  related: RelatedProjection,
  columns: readonly FieldPath[],
  entityColumns: number,
  keys: readonly unknown[],
): Promise<unknown[][]> {
  const { em, query } = question;
  const platform = em.getPlatform();
  const tie = manyTie(related.relation, related.ownerMeta);
  const scope = rootScope(question);
  const stored = keys.map((key) => comparedValue(related.owner, key, platform));
  const match = matchOf(scope, question);
  const { stages, owner, place } = tied(scope, related, tie, stored, match);
  const { added, sort: sorted } = sortingOf(scope, query.order.total);
  const sort = related.asAdded === true && place !== undefined ? { [place]: 1, ...sorted } : sorted;
  const pipeline = [...stages, ...match.rest, ...scope.takeStages()];
  if (added !== undefined) pipeline.push({ $addFields: added });
  pipeline.push(...(related.limit === undefined ? [{ $sort: sort }] : firstOfEach(owner, sort, related.limit)));
  const { projection, readRow } = rowFields(scope, columns, entityColumns);
  pipeline.push(...scope.takeStages(), { $project: { ...projection, [owner]: 1 } });
  const root = tie.listOn === 'owner' ? related.ownerMeta : query.meta;
  const documents = await runPipeline(question, root, pipeline, {});
  const ownerOf = plainGetter(owner, related.owner);
  return documents.map((document) => [...readRow(document), ownerOf(document)]);
}

function tied(
  scope: MongoScope,
  related: RelatedProjection,
  tie: ManyTie,
  keys: readonly unknown[],
  { ofDocument }: Match,
): Tied {
  const isWanted = (field: string): Document => ({ $match: { [field]: { $in: keys } } });
  if (tie.listOn === undefined) return { stages: [isWanted(tie.field), { $match: ofDocument }], owner: tie.field };
  const owner = `~${scope.context.names.next++}`;
  if (tie.listOn === 'owner') {
    const owners = isWanted(columnOf(related.ownerMeta.getPrimaryProp()));
    return { stages: [owners, ...listedChildren(scope, tie, owner, ofDocument)], owner, place: placeIn(owner) };
  }
  // A list may contain a key twice.
  const each = [{ $addFields: { [owner]: { $setUnion: [`$${tie.field}`, []] } } }, { $unwind: `$${owner}` }];
  return { stages: [isWanted(tie.field), { $match: ofDocument }, ...each, isWanted(owner)], owner };
}

/** Continues with the records in their owners' lists, with one lookup per owner. */
function listedChildren(
  { meta }: MongoScope,
  { ownerField, field }: ManyTie,
  owner: string,
  ofDocument: Document,
): Document[] {
  const record = `${owner}r`;
  const from = collectionName(meta);
  return [
    { $lookup: { from, localField: ownerField, foreignField: field, as: record, pipeline: [{ $match: ofDocument }] } },
    { $unwind: `$${record}` },
    {
      $addFields: { [placeIn(owner)]: { $indexOfArray: [{ $ifNull: [`$${ownerField}`, []] }, `$${record}.${field}`] } },
    },
    {
      $replaceRoot: {
        newRoot: { $mergeObjects: [`$${record}`, { [owner]: '$_id', [placeIn(owner)]: `$${placeIn(owner)}` }] },
      },
    },
  ];
}

/** The field with the position of a child in its owner's list. */
function placeIn(owner: string): string {
  return `${owner}p`;
}

/** Keeps the first children of each owner. */
function firstOfEach(owner: string, sort: Document, limit: number): Document[] {
  const first = { $topN: { n: limit, sortBy: sort, output: '$$ROOT' } };
  return [
    { $group: { _id: `$${owner}`, first } },
    { $unwind: '$first' },
    { $replaceRoot: { newRoot: '$first' } },
    { $sort: sort },
  ];
}
