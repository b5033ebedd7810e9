import assert from 'node:assert/strict';
import type { OperationPlan } from '@viewset/core';
import { type Body, bodyFields, type FieldSchema } from '../bodies.ts';
import { isRefusal, type RecordKey, type SuiteCase, titleOf, type ViewUnderTest } from './view-under-test.ts';

/** Lists the cases of a create: what it stores, requires and rejects. */
export function createCases(create: OperationPlan): SuiteCase[] {
  return [
    ['create stores what is sent', (view) => storesAll(view, create)],
    ['create needs its required fields', (view) => needs(view, create)],
    ['create keeps the bounds of its fields', (view) => keepsBounds(view, create)],
    ['create refuses what has to be unique', (view) => refusesDuplicates(view, create)],
  ];
}

/** Lists the case of an update with one of its methods. */
export function updateCases(update: OperationPlan): SuiteCase[] {
  if (update.method === 'PUT') return [['PUT stores what is sent', (view) => replaces(view, update)]];
  return [['PATCH changes only what is sent', (view) => changesParts(view, update)]];
}

async function storesAll(view: ViewUnderTest, create: OperationPlan): Promise<void> {
  const body = await view.body(create);
  const { status, text, body: answered } = await view.send(create, { body });
  assert.ok(status < 300, `${titleOf(create)} answered ${status}: ${text}`);
  await checkStored(view, { plan: create, body, answered: answered as Body });
}

async function replaces(view: ViewUnderTest, update: OperationPlan): Promise<void> {
  const { key } = await view.make();
  const body = await view.body(update);
  const { status, text, body: answered } = await view.send(update, { key, body, ...(await view.tagOf(key)) });
  assert.ok(status < 300, `${titleOf(update)} answered ${status}: ${text}`);
  await checkStored(view, { plan: update, body, answered: answered as Body });
}

/**
 * Checks each field of a body in the response, else in the record. If neither shows it, the record must have a value.
 */
async function checkStored(
  view: ViewUnderTest,
  { plan, body, answered }: { readonly plan: OperationPlan; readonly body: Body; readonly answered: Body },
): Promise<void> {
  const fields = bodyFields(plan);
  const key = answered[view.keyName];
  const record =
    key === undefined ? null : await view.app.forkAll().findOne<object>(view.meta.class, { [view.keyName]: key });
  for (const [name, sent] of Object.entries(body)) {
    if (Object.hasOwn(answered, name)) {
      assert.ok(
        means(sent, answered[name], fields[name]),
        `"${name}" was sent as ${json(sent)}, and is ${json(answered[name])}`,
      );
    } else if (record !== null && Object.hasOwn(view.meta.properties, name) && sent !== null) {
      assert.notEqual((record as Body)[name] ?? null, null, `"${name}" was sent as ${json(sent)}, and is not stored`);
    }
  }
}

/**
 * Tells if a response shows the sent value. True for references by a field that the response does not show, because
 * they cannot be compared.
 */
function means(sent: unknown, shown: unknown, schema: FieldSchema | undefined): boolean {
  if (Array.isArray(sent)) {
    const isFound = (each: unknown): boolean =>
      (shown as readonly unknown[]).some((one) => means(each, one, schema?.items));
    return Array.isArray(shown) && sent.length === shown.length && sent.every(isFound);
  }
  if (typeof shown === 'object' && shown !== null) {
    const record = shown as Body;
    const field = schema?.['x-reference']?.field;
    const parts = typeof sent === 'object' && sent !== null ? Object.entries(sent) : [[field ?? '', sent] as const];
    return parts.every(([name, value]) => !Object.hasOwn(record, name) || means(value, record[name], undefined));
  }
  return sent === shown || String(sent) === String(shown) || areSame(sent, shown);
}

/** True for the same number, decimal or moment in different notations. */
function areSame(one: unknown, other: unknown): boolean {
  if (typeof one === 'number' || typeof other === 'number') return Number(one) === Number(other);
  if (typeof one !== 'string' || typeof other !== 'string') return false;
  if (DECIMAL.test(one) && DECIMAL.test(other)) return withoutZeros(one) === withoutZeros(other);
  return Date.parse(one) === Date.parse(other);
}

/** A decimal as text: "3" is stored as "3.00". */
const DECIMAL = /^-?\d+(?:\.\d+)?$/;

function withoutZeros(decimal: string): string {
  return decimal.includes('.') ? decimal.replace(/\.?0+$/, '') : decimal;
}

async function needs(view: ViewUnderTest, create: OperationPlan): Promise<void> {
  const { required = [] } = create.body!.schema as FieldSchema;
  const complete = await view.body(create);
  for (const name of required) {
    const { [name]: _left, ...body } = complete;
    await checkRefused(view, create, { name, body, reason: `without "${name}"` });
  }
}

interface Refused {
  readonly name: string;
  readonly body: Body;
  readonly reason: string;
}

async function checkRefused(view: ViewUnderTest, plan: OperationPlan, { name, body, reason }: Refused): Promise<void> {
  const { status, text, body: answered } = await view.send(plan, { body });
  assert.ok(isRefusal(status), `${titleOf(plan)} ${reason} answered ${status}: ${text}`);
  const { details } = (answered ?? {}) as { details?: readonly { path: string }[] };
  if (details === undefined) return;
  const isNamed = details.some(({ path }) => path.split('/').includes(name));
  assert.ok(isNamed, `${titleOf(plan)} ${reason} does not name the field: ${text}`);
}

async function keepsBounds(view: ViewUnderTest, create: OperationPlan): Promise<void> {
  const complete = await view.body(create);
  for (const [name, schema] of Object.entries(bodyFields(create))) {
    for (const value of outside(schema)) {
      const body = { ...complete, [name]: value };
      await checkRefused(view, create, { name, body, reason: `with "${name}": ${json(value)}` });
    }
    for (const value of atBounds(schema)) {
      const { status, text } = await view.sendAccepted(create, { [name]: value });
      const words = `with "${name}": ${json(value)}, which its document allows, answered ${status}: ${text}`;
      assert.ok(status < 300, `${titleOf(create)} ${words}`);
    }
  }
}

/** Lists values that a schema does not allow. */
function outside(schema: FieldSchema): unknown[] {
  const { type, enum: values, minLength = 0, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const wrong: unknown[] = [];
  if (type !== undefined) wrong.push([type].flat().includes('object') ? 'no-object' : { no: 'such value' });
  if (values !== undefined) wrong.push('no-such-value');
  if (minLength > 0) wrong.push('');
  if (maxLength !== undefined) wrong.push('x'.repeat(maxLength + 1));
  if (minimum !== undefined) wrong.push(minimum - 1);
  if (maximum !== undefined) wrong.push(maximum + 1);
  if (exclusiveMinimum !== undefined) wrong.push(exclusiveMinimum);
  if (exclusiveMaximum !== undefined) wrong.push(exclusiveMaximum);
  return wrong.filter((value) => typeof value !== 'number' || Number.isSafeInteger(Math.trunc(value)));
}

/** Lists the values at a schema's bounds, which it allows; empty for formatted texts and references. */
function atBounds(schema: FieldSchema): unknown[] {
  const { type, format, pattern, enum: values, maxLength, minimum, maximum, 'x-reference': reference } = schema;
  const isFormattedText = format !== undefined && ![type].flat().includes('integer');
  if (isFormattedText || pattern !== undefined || values !== undefined || reference !== undefined) return [];
  const allowed: unknown[] = [minimum, maximum].filter((bound) => bound !== undefined);
  if (maxLength !== undefined) allowed.push('x'.repeat(maxLength));
  return allowed;
}

async function refusesDuplicates(view: ViewUnderTest, create: OperationPlan): Promise<void> {
  const unique = Object.keys(bodyFields(create)).filter((name) => view.meta.properties[name as never]?.['unique']);
  for (const name of unique) {
    const body = await view.body(create);
    await view.send(create, { body });
    const { status, text } = await view.send(create, { body: await view.body(create, { [name]: body[name] }) });
    assert.ok(isRefusal(status), `${titleOf(create)} with "${name}" of another record answered ${status}: ${text}`);
  }
}

async function changesParts(view: ViewUnderTest, update: OperationPlan): Promise<void> {
  const { key: first, body: created } = await view.make();
  let key = first;
  const names = Object.keys(bodyFields(update));
  let before = view.plans.find('retrieve') === undefined ? created : ((await view.retrieve(first)) ?? {});
  for (const name of [undefined, ...names]) {
    const full = await view.body(update);
    let body = name === undefined || !Object.hasOwn(full, name) ? {} : { [name]: full[name] };
    let answer = await view.send(update, { key, body, ...(await view.tagOf(key)) });
    // A rule may compare the field with others, whose values are stored.
    if (isRefusal(answer.status)) {
      body = full;
      answer = await view.send(update, { key, body, ...(await view.tagOf(key)) });
    }
    assert.ok(answer.status < 300, `${titleOf(update)} of ${json(body)} answered ${answer.status}: ${answer.text}`);
    const after = answer.body as Body;
    await checkStored(view, { plan: update, body, answered: after });
    for (const other of names) {
      if (Object.hasOwn(body, other) || !Object.hasOwn(before, other) || !Object.hasOwn(after, other)) continue;
      assert.deepEqual(after[other], before[other], `${titleOf(update)} of ${json(body)} has changed "${other}"`);
    }
    before = after;
    key = (after[view.keyName] ?? key) as RecordKey;
  }
}

function json(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
