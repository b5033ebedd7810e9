import type { Group, Grouping, GroupKey, GroupTotal, Question } from '@viewset/core/backend';
import { decimalText } from '../mikro/decimal128.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { runPipeline } from './command.ts';
import { matchOf, rootScope, saysNothing } from './match.ts';
import { withRelatedKeys } from './related-keys.ts';
import { plainGetter } from './rows.ts';

/** Reads the groups of a question. */
export async function readGroups(given: Question, grouping: Grouping): Promise<Group[]> {
  const question = await withRelatedKeys(given, false);
  const scope = rootScope(question);
  const { ofDocument, rest } = matchOf(scope, question);
  const keys = grouping.keys.map((key) => ({ key, field: scope.value(key.path) }));
  const totals = grouping.totals.map((total) => ({ total, field: scope.value(total.path) }));
  const stages = [...rest, ...groupStages(keys, totals, scope.takeStages()), { $limit: grouping.limit }];
  const filtered = saysNothing(ofDocument) ? stages : [{ $match: ofDocument }, ...stages];
  const documents = await runPipeline(question, question.query.meta, filtered, {});
  const read = readerOf(grouping);
  return documents.map(read);
}

/** A group key, and the field that holds its value. */
interface KeyField {
  readonly key: GroupKey;
  readonly field: string;
}

interface TotalField {
  readonly total: GroupTotal;
  readonly field: string;
}

/**
 * Makes the stages that group documents. A lookup takes about 0.1 ms, so documents with the same reference are grouped
 * before it is looked up.
 *
 * @param lookups the stages that look up fields for keys and totals
 */
function groupStages(
  keys: readonly KeyField[],
  totals: readonly TotalField[],
  lookups: readonly Document[],
): readonly Document[] {
  const totalled = byIndex('t', totals, ({ total, field }) => totalOf(total, field));
  const named = byIndex('k', keys, ({ key, field }) => keyOf(key, field));
  const referring = lookups.flatMap(({ $lookup }) => ($lookup === undefined ? [] : [($lookup as Lookup).localField]));
  const local = [...new Set(referring.filter(isLocal))];
  const areTotalsLocal = totals.every(({ field }) => isLocal(field));
  if (local.length === 0 || !areTotalsLocal || local.some((field) => field.includes('.'))) {
    return [...lookups, { $group: { _id: named, count: { $sum: 1 }, ...totalled } }];
  }
  const keyPairs = keys.map(({ field }, index) => [`k${index}`, `~k${index}`, isLocal(field)] as const);
  const ofReferences = {
    ...Object.fromEntries(local.map((field) => [field, orNull(`$${field}`)])),
    ...Object.fromEntries(keyPairs.flatMap(([name, kept, isKept]) => (isKept ? [[kept, named[name]]] : []))),
  };
  const kept = Object.fromEntries(['count', ...Object.keys(totalled)].map((name) => [`~${name}`, `$${name}`]));
  const together = byIndex('t', totals, ({ total: { kind } }, index) => {
    return { [kind === 'min' || kind === 'max' ? `$${kind}` : '$sum']: `$~t${index}` };
  });
  const ofKeys = keyPairs.map(([name, ofDocument, isKept]) => [name, isKept ? `$${ofDocument}` : named[name]]);
  return [
    { $group: { _id: ofReferences, count: { $sum: 1 }, ...totalled } },
    { $replaceWith: { $mergeObjects: ['$_id', kept] } },
    ...lookups,
    { $group: { _id: Object.fromEntries(ofKeys) as Document, count: { $sum: '$~count' }, ...together } },
  ];
}

interface Lookup {
  readonly localField: string;
}

/** True for a document's own field, false for one that was looked up. */
function isLocal(field: string): boolean {
  return !field.startsWith('~');
}

function byIndex<Item>(
  letter: string,
  items: readonly Item[],
  make: (item: Item, index: number) => Document,
): Record<string, Document> {
  return Object.fromEntries(items.map((item, index) => [`${letter}${index}`, make(item, index)]));
}

/** Converts a missing field to null. */
function orNull(expression: Document | string): Document {
  return { $ifNull: [expression, null] };
}

function keyOf({ path, period, zone }: GroupKey, name: string): Document {
  const field = `$${name}`;
  if (period === undefined) return orNull(field);
  const date =
    path.type.kind === 'date' ? atMidnight(field) : zone === undefined ? field : atMidnight(dayIn(zone, field));
  const start = { $dateTrunc: { date, unit: period, timezone: 'UTC', startOfWeek: 'monday' } };
  return orNull({ $dateToString: { date: start, format: '%Y-%m-%d' } });
}

/** The days of times that are in the year 0 or 10000 in their zone. */
const [FIRST_LOCAL_DAY, LAST_LOCAL_DAY] = ['0001-01-01', '9999-12-31'];

/** The day of a time in a zone, as text. A local midnight may not exist, so the day is never one of the zone's times. */
function dayIn(timezone: string, date: string): Document {
  const year = { $year: { date, timezone } };
  const day = { $dateToString: { date, timezone, format: '%Y-%m-%d' } };
  const notBefore = { $cond: [{ $eq: [year, 0] }, FIRST_LOCAL_DAY, day] };
  return { $cond: [{ $gt: [year, 9999] }, LAST_LOCAL_DAY, notBefore] };
}

function atMidnight(dateString: Document | string): Document {
  return { $dateFromString: { dateString, onError: null } };
}

/** Adds whole numbers as decimals, because a sum over 64 bits would become a double. */
function totalOf({ path, kind }: GroupTotal, name: string): Document {
  const field = `$${name}`;
  if (kind === 'count') return { $sum: { $cond: [{ $gt: [field, null] }, 1, 0] } };
  if (kind !== 'sum') return { [`$${kind}`]: field };
  return { $sum: isInteger(path) ? { $toDecimal: field } : field };
}

function isInteger({ type: { kind } }: GroupTotal['path']): boolean {
  return kind === 'integer' || kind === 'bigint';
}

function readerOf({ keys, totals }: Grouping): (document: Document) => Group {
  const keyGetters = keys.map(({ path, period }, index) => {
    const name = `k${index}`;
    return period === undefined ? plainGetter(name, path) : (found: Document) => found[name];
  });
  const totalGetters = totals.map(({ path, kind }, index) => {
    const name = `t${index}`;
    if (kind === 'min' || kind === 'max') return plainGetter(name, path);
    if (kind === 'count' || path.type.kind === 'number') return (found: Document) => Number(found[name]);
    return (found: Document) => decimalText(found[name]);
  });
  return (document) => ({
    keys: keyGetters.map((get) => get(document['_id'] as Document)),
    count: Number(document['count']),
    totals: totalGetters.map((get) => get(document)),
  });
}
