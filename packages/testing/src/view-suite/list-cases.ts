import assert from 'node:assert/strict';
import type { OperationParameter, OperationPlan } from '@viewset/core';
import type { Body, FieldSchema } from '../bodies.ts';
import { uniqueValue } from '../unique-value.ts';
import { type Comparable, ComparedField } from './compared-field.ts';
import { matches, type Question, questions, UNUSED_TEXT } from './questions.ts';
import { isRefusal, type SuiteCase, titleOf, type ViewUnderTest, rowsOf } from './view-under-test.ts';

/** Lists the cases of a list: filters, orders, searches, pages, and values that it must reject. */
export function listCases(list: OperationPlan): SuiteCase[] {
  const { queryParameters } = list;
  const cases: SuiteCase[] = [['list shows the records', showsRecords]];
  for (const parameter of queryParameters) {
    const { name, compares = [], orders = {} } = parameter;
    if (compares.length === 1) cases.push([`list: ${name} filters`, (view) => filters(view, parameter)]);
    if (compares.length > 1) cases.push([`list: ${name} finds`, (view) => searches(view, parameter)]);
    for (const [value, field] of Object.entries(orders)) {
      cases.push([`list: ${name}=${value} orders`, (view) => ordersBy(view, name, { value, field })]);
    }
  }
  if (queryParameters.some(({ pages }) => pages === 'size')) {
    cases.push(['list: pages have each record once', walksPages], ['list: no page is longer than allowed', keepsSize]);
  }
  cases.push(['list refuses wrong parameters', refusesParameters]);
  return cases;
}

async function showsRecords(view: ViewUnderTest): Promise<void> {
  const made = await view.makeMany(2);
  const shown = view.keysOf(await view.rows());
  const missing = made.map(({ key }) => String(key)).filter((key) => !shown.includes(key));
  assert.deepEqual(missing, [], 'the list does not show these records');
}

/** The rows of a list, with a field's values in their records. */
interface Valued {
  readonly key: string;
  readonly values: readonly Comparable[];
}

/** Makes three records with different values of a field, if the field can be set. */
async function makeDistinct(view: ViewUnderTest, field: ComparedField): Promise<void> {
  const made = await view.makeMany(3);
  const { column, type } = field;
  const valued = await valuedRows(view, field);
  if (column === undefined || new Set(valued.flatMap(({ values }) => values)).size > 1) return;
  const em = view.app.forkAll();
  for (const [index, { key }] of made.entries()) {
    const value = type.kind === 'boolean' ? index % 2 === 1 : uniqueValue(view.meta, column, index + 1);
    try {
      await em.nativeUpdate<object>(view.meta.class, { [view.keyName]: key }, { [column]: value });
    } catch (error) {
      throw new Error(
        `the suite changed "${column}" of three records, and the database rejects ${String(value)}; ` +
          `give values that differ by the option "body" or "record", or leave out this test by "skip"`,
        { cause: error },
      );
    }
  }
}

async function valuedRows(
  view: ViewUnderTest,
  field: ComparedField,
  query: Readonly<Record<string, string>> = {},
): Promise<Valued[]> {
  const rows = await view.rows(query);
  const populate = field.populate === '' ? [] : [field.populate];
  const records = await view.app.forkAll().find<object>(view.meta.class, {}, { populate: populate as never });
  const byKey = new Map(records.map((record) => [String((record as Body)[view.keyName]), record]));
  return view.keysOf(rows).map((key) => ({ key, values: field.valuesOf(byKey.get(key)!) }));
}

async function filters(view: ViewUnderTest, { name, compares = [] }: OperationParameter): Promise<void> {
  const [{ field: path, lookup }] = compares as [{ field: string; lookup: string }];
  const field = ComparedField.find(view.meta, path);
  if (field === undefined) return;
  await makeDistinct(view, field);
  const all = await valuedRows(view, field);
  const wanted = questions(
    field,
    lookup,
    all.flatMap(({ values }) => values),
  );
  for (const question of wanted) await ask(view, name, question, all);
}

async function ask(
  view: ViewUnderTest,
  name: string,
  { texts, holds }: Question,
  all: readonly Valued[],
): Promise<void> {
  const expected = all.filter(({ values }) => values.some(holds)).map(({ key }) => key);
  const found = view.keysOf(await view.rows({ [name]: texts }));
  assert.deepEqual(
    found.toSorted(),
    expected.toSorted(),
    `?${name}=${texts.join(',')} does not find the records that it should`,
  );
}

async function searches(view: ViewUnderTest, { name, compares = [] }: OperationParameter): Promise<void> {
  await view.makeMany(3);
  const fields = compares.map((each) => ({ ...each, field: ComparedField.find(view.meta, each.field)! }));
  const valued = await Promise.all(fields.map(({ field }) => valuedRows(view, field)));
  const isFound = (place: number, word: string): boolean =>
    fields.some(({ lookup }, index) => valued[index]![place]!.values.some((value) => matches(lookup, value, word)));
  const words = valued.map((rows) => rows.flatMap(({ values }) => values).find((value) => typeof value === 'string'));
  for (const word of [...words, UNUSED_TEXT]) {
    if (typeof word !== 'string' || word === '' || word.includes('"')) continue;
    const expected = valued[0]!.filter((_row, place) => isFound(place, word)).map(({ key }) => key);
    const found = view.keysOf(await view.rows({ [name]: `"${word}"` }));
    assert.deepEqual(
      found.toSorted(),
      expected.toSorted(),
      `?${name}="${word}" does not find the records that it should`,
    );
  }
}

async function ordersBy(
  view: ViewUnderTest,
  name: string,
  order: { readonly value: string; readonly field: string },
): Promise<void> {
  const field = ComparedField.find(view.meta, order.field);
  if (field !== undefined) await makeDistinct(view, field);
  const read = async (value: string): Promise<Comparable[]> => {
    const rows = field && (await valuedRows(view, field, { [name]: value }));
    if (rows === undefined) await view.rows({ [name]: value });
    return (rows ?? []).map(({ values: [first = null] }) => first).filter((each) => each !== null);
  };
  const ascending = await read(order.value);
  assert.deepEqual(await read(`-${order.value}`), ascending.toReversed(), `?${name}=-${order.value} does not reverse`);
  if (field?.isOrdered !== true) return;
  const sorted = ascending.toSorted((one, other) => Number(one! > other!) - Number(one! < other!));
  assert.deepEqual(ascending, sorted, `?${name}=${order.value} does not order by ${order.field}`);
}

async function walksPages(view: ViewUnderTest): Promise<void> {
  await view.makeMany(3);
  const list = view.plans.get('list');
  const all = view.keysOf(await view.rows());
  const parameterOf = (part: OperationParameter['pages']) => list.queryParameters.find(({ pages }) => pages === part);
  const size = { [parameterOf('size')!.name]: '1' };
  const [place] = (['number', 'offset', 'cursor'] as const).flatMap((part) => parameterOf(part) ?? []);
  const walked: string[] = [];
  let at = FIRST[place?.pages ?? 'cursor'];
  do {
    const { body } = await view.send(list, { query: { ...size, ...(at !== undefined && { [place!.name]: at }) } });
    const rows = rowsOf(list, body);
    assert.ok(rows.length <= 1, `${titleOf(list)} answers ${rows.length} records on a page of one`);
    walked.push(...view.keysOf(rows));
    at = rows.length === 0 ? undefined : placeAfter(list, place?.pages, { at, page: body as Body });
  } while (at !== undefined && walked.length <= all.length);
  assert.deepEqual(walked, all, 'the pages of one record do not have each record once');
}

/** The parameter values of the first page; a cursor has none. */
const FIRST: Readonly<Record<string, string | undefined>> = { number: '1', offset: '0', cursor: undefined };

/** Returns the parameter of the page after one record; undefined if there is none. */
function placeAfter(
  { pageMembers }: OperationPlan,
  kind: OperationParameter['pages'],
  { at, page }: { readonly at: string | undefined; readonly page: Body },
): string | undefined {
  if (kind !== 'cursor') return at === undefined ? undefined : String(Number(at) + 1);
  return (page[pageMembers['next_cursor'] ?? 'next_cursor'] ?? undefined) as string | undefined;
}

async function keepsSize(view: ViewUnderTest): Promise<void> {
  const list = view.plans.get('list');
  const { name, maxPageSize = 0, schema } = list.queryParameters.find(({ pages }) => pages === 'size')!;
  const { default: usual = maxPageSize } = schema as { default?: number };
  const isFew = maxPageSize <= MOST_RECORDS;
  await view.makeMany((isFew ? maxPageSize : usual) + 1);
  const lengthOf = async (query: Readonly<Record<string, string>>): Promise<number> =>
    rowsOf(list, (await view.send(list, { query })).body).length;
  assert.equal(await lengthOf({}), usual, 'the page of a request that names no size has another size');
  if (isFew) assert.equal(await lengthOf({ [name]: String(maxPageSize + 1) }), maxPageSize, 'a page is too long');
}

async function refusesParameters(view: ViewUnderTest): Promise<void> {
  const list = view.plans.get('list');
  const wrong = list.queryParameters
    .filter(({ schema }) => !takesAnyText(schema as FieldSchema))
    .map(({ name }) => name);
  for (const name of wrong) await refuses(view, list, name);
  if (list.queryParameters.length > 0) await refuses(view, list, 'no_such_parameter');
}

async function refuses(view: ViewUnderTest, list: OperationPlan, name: string): Promise<void> {
  const { status, text } = await view.send(list, { query: { [name]: 'no-such-value' } });
  assert.ok(isRefusal(status), `${titleOf(list)}?${name}=no-such-value answered ${status}: ${text}`);
}

/** True if a parameter accepts any text. */
function takesAnyText({ type, items, enum: values, format, pattern }: FieldSchema): boolean {
  if (items !== undefined) return takesAnyText(items);
  return type === 'string' && values === undefined && format === undefined && pattern === undefined;
}

/** Making more records than this takes too long. */
const MOST_RECORDS = 100;
