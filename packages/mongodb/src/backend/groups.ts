import type { Group, Grouping, GroupKey, GroupTotal, Question } from '@viewset/core/backend';
import { decimalText } from '../mikro/decimal128.ts';
import type { Document } from '../mikro/mongo-driver.ts';
import { runPipeline } from './command.ts';
import { matchOf, rootScope, saysNothing } from './match.ts';
import { withRelatedKeys } from './related-keys.ts';
import { plainGetter } from './rows.ts';
import type { MongoScope } from './scope.ts';

/** Reads the groups of a question's documents. */
export async function readGroups(asked: Question, grouping: Grouping): Promise<Group[]> {
  const question = await withRelatedKeys(asked, false);
  const scope = rootScope(question);
  const { own, rest } = matchOf(scope, question);
  const keys = grouping.keys.map((key, index) => [`k${index}`, keyOf(scope, key)] as const);
  const totals = grouping.totals.map((total, index) => [`t${index}`, totalOf(scope, total)] as const);
  const group = { _id: Object.fromEntries(keys), count: { $sum: 1 }, ...Object.fromEntries(totals) };
  const stages = [...rest, ...scope.takeStages(), { $group: group }, { $limit: grouping.limit }];
  const filtered = saysNothing(own) ? stages : [{ $match: own }, ...stages];
  const documents = await runPipeline(question, question.query.meta, filtered, {});
  const read = readerOf(grouping);
  return documents.map(read);
}

/** A field that is missing is NULL. */
function keyOf(scope: MongoScope, { path, period }: GroupKey): Document {
  const field = `$${scope.value(path)}`;
  if (period === undefined) return { $ifNull: [field, null] };
  const date = path.type.kind === 'date' ? { $dateFromString: { dateString: field } } : field;
  const start = { $dateTrunc: { date, unit: period, timezone: 'UTC', startOfWeek: 'monday' } };
  return { $ifNull: [{ $dateToString: { date: start, format: '%Y-%m-%d' } }, null] };
}

/** Whole numbers are added up as decimals: a sum that is too large for 64 bits would become a double. */
function totalOf(scope: MongoScope, { path, told }: GroupTotal): Document {
  const field = `$${scope.value(path)}`;
  if (told === 'count') return { $sum: { $cond: [{ $gt: [field, null] }, 1, 0] } };
  if (told !== 'sum') return { [`$${told}`]: field };
  return { $sum: isWhole(path) ? { $toDecimal: field } : field };
}

function isWhole({ type: { kind } }: GroupTotal['path']): boolean {
  return kind === 'integer' || kind === 'bigint';
}

function readerOf({ keys, totals }: Grouping): (document: Document) => Group {
  const keyGetters = keys.map(({ path, period }, index) => {
    const name = `k${index}`;
    return period === undefined ? plainGetter(name, path) : (found: Document) => found[name];
  });
  const totalGetters = totals.map(({ path, told }, index) => {
    const name = `t${index}`;
    if (told === 'min' || told === 'max') return plainGetter(name, path);
    if (told === 'count' || path.type.kind === 'number') return (found: Document) => Number(found[name]);
    return (found: Document) => decimalText(found[name]);
  });
  return (document) => ({
    keys: keyGetters.map((get) => get(document['_id'] as Document)),
    count: Number(document['count']),
    totals: totalGetters.map((get) => get(document)),
  });
}
