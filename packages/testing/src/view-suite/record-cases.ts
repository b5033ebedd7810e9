import assert from 'node:assert/strict';
import type { OperationPlan } from '@viewset/core';
import { type Sent, type SuiteCase, takesJson, titleOf, type ViewUnderTest } from './view-under-test.ts';

/** Lists the cases of one operation on a single record: found, missing, deleted, unchanged since. */
export function recordCases(plan: OperationPlan): SuiteCase[] {
  const { action, detail, method, headerParameters, responses } = plan;
  const name = nameOf(plan);
  const tag = headerParameters.find((parameter) => parameter.name === 'if-match');
  const cases: SuiteCase[] = [];
  if (detail) cases.push([`${name} of a missing record is a 404`, (view) => isMissing(view, plan)]);
  if (action === 'retrieve') cases.push(['retrieve shows the record', (view) => shows(view)]);
  if (action === 'destroy') cases.push(['destroy removes the record', (view) => destroys(view, plan)]);
  if (detail && method === 'GET' && responses[304] !== undefined) {
    cases.push([`${name} of an unchanged record is a 304`, (view) => isUnchanged(view, plan)]);
  }
  if (tag !== undefined && responses[412] !== undefined) {
    cases.push([
      `${name} by another tag is a 412`,
      (view) => answers(view, plan, 412, { headers: { 'if-match': '"no-such-tag"' } }),
    ]);
  }
  if (tag?.required === true) cases.push([`${name} without a tag is a 428`, (view) => answers(view, plan, 428)]);
  return cases;
}

/** Lists the case of an unreadable body for an operation that reads one. */
export function bodyCases(plan: OperationPlan): SuiteCase[] {
  if (plan.body?.schema === undefined || !takesJson(plan)) return [];
  return [[`${nameOf(plan)} refuses bodies that it cannot read`, (view) => refusesUnreadable(view, plan)]];
}

async function refusesUnreadable(view: ViewUnderTest, plan: OperationPlan): Promise<void> {
  const other = { payload: 'x', headers: { 'content-type': 'application/x-none' } };
  if (plan.responses[400] !== undefined) await answers(view, plan, 400, { payload: '{"' });
  if (plan.responses[415] !== undefined) await answers(view, plan, 415, other);
}

/** Names an operation in case names: its action, and its method if the action has several. */
export function nameOf({ action, method }: OperationPlan): string {
  return action === 'update' ? method : action;
}

async function answers(view: ViewUnderTest, plan: OperationPlan, expected: number, sent: Sent = {}): Promise<void> {
  const key = plan.detail ? (await view.make()).key : undefined;
  const body = sent.payload === undefined ? await bodyOf(view, plan) : {};
  const { status, text } = await view.send(plan, { key, ...body, ...sent });
  assert.equal(status, expected, `${titleOf(plan)} answered ${status}: ${text}`);
}

/** Makes a body for an operation that takes one. */
export async function bodyOf(view: ViewUnderTest, plan: OperationPlan): Promise<Pick<Sent, 'body'>> {
  return plan.body?.schema !== undefined && takesJson(plan) ? { body: await view.body(plan) } : {};
}

async function isMissing(view: ViewUnderTest, plan: OperationPlan): Promise<void> {
  const { key } = await view.make();
  const missing = typeof key === 'number' ? key + 1_000_000 : missingText(key);
  const { status, text } = await view.send(plan, { key: missing, ...(await bodyOf(view, plan)) });
  assert.equal(status, 404, `${titleOf(plan)} of a record that is not there answered ${status}: ${text}`);
}

/** Makes a key of the same form that no record has. */
function missingText(key: string): string {
  return key.replaceAll(/[0-9a-f]/g, (digit) => (digit === '0' ? '1' : '0'));
}

async function shows(view: ViewUnderTest): Promise<void> {
  const { key, body } = await view.make();
  const shown = await view.retrieve(key);
  assert.ok(shown !== undefined, `the record ${String(key)} is not there`);
  for (const [name, value] of Object.entries(shown)) {
    if (!Object.hasOwn(body, name)) continue;
    assert.deepEqual(value, body[name], `create has answered another "${name}" than GET`);
  }
}

async function destroys(view: ViewUnderTest, destroy: OperationPlan): Promise<void> {
  const { key } = await view.make();
  const other = await view.make();
  const { status, text } = await view.send(destroy, { key, ...(await view.tagOf(key)) });
  assert.ok(status < 300, `${titleOf(destroy)} answered ${status}: ${text}`);
  assert.equal(
    (await view.send(destroy, { key, headers: { 'if-match': '*' } })).status,
    404,
    'a deleted record is still there',
  );
  if (view.plans.find('retrieve') !== undefined) {
    assert.equal(await view.retrieve(key), undefined, 'a deleted record is still shown');
    assert.ok((await view.retrieve(other.key)) !== undefined, 'another record is gone too');
  }
}

async function isUnchanged(view: ViewUnderTest, plan: OperationPlan): Promise<void> {
  const { key } = await view.make();
  const first = await view.send(plan, { key });
  const headers = { 'if-none-match': String(first.headers['etag']) };
  const { status } = await view.send(plan, { key, headers });
  assert.equal(status, 304, `${titleOf(plan)} with the tag of its answer answered ${status}`);
}
