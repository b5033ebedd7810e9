import assert from 'node:assert/strict';
import type { OperationPlan } from '@viewset/core';
import { onWire } from '../bodies.ts';
import { bodyOf, nameOf } from './record-cases.ts';
import {
  type Answer,
  isTurnedAway,
  type RecordKey,
  type Sender,
  type SuiteCase,
  titleOf,
  type ViewUnderTest,
} from './view-under-test.ts';

/** Lists the cases for who may use an operation: an anonymous user, and the other user if there is one. */
export function accessCases(
  plan: OperationPlan,
  { strangerMay }: { readonly strangerMay: readonly string[] | undefined },
): SuiteCase[] {
  const { action, detail, refusesAnonymous, allowsAnonymous } = plan;
  const name = nameOf(plan);
  const cases: SuiteCase[] = [];
  if (refusesAnonymous) cases.push([`${name} without a user is a 401`, (view) => refusesNobody(view, plan)]);
  if (allowsAnonymous && !refusesAnonymous) cases.push([`${name} needs no token`, (view) => needsNoToken(view, plan)]);
  if (strangerMay === undefined) return cases;
  const may = strangerMay.includes(action);
  if (detail) {
    const title = may ? `${name} lets a stranger in` : `${name} keeps a stranger out`;
    cases.push([title, (view) => strangerUses(view, plan, may)]);
  }
  if (action === 'list') {
    const title = may ? 'list shows records to a stranger' : 'list hides records from a stranger';
    cases.push([title, (view) => strangerSees(view, may)]);
  }
  return cases;
}

/** Lists the case for hidden columns, if the entity has any. */
export function hiddenCases(): SuiteCase[] {
  return [['no answer has a hidden value', hidesValues]];
}

async function sendAs(
  as: Sender,
  view: ViewUnderTest,
  plan: OperationPlan,
  key: RecordKey | undefined,
): Promise<Answer> {
  const tag = key === undefined ? {} : await view.tagOf(key);
  return view.send(plan, { as, key, ...(await bodyOf(view, plan)), ...tag });
}

async function sendAsNobody(view: ViewUnderTest, plan: OperationPlan): Promise<Answer> {
  return sendAs('nobody', view, plan, plan.detail ? (await view.make()).key : undefined);
}

async function refusesNobody(view: ViewUnderTest, plan: OperationPlan): Promise<void> {
  const { status, text } = await sendAsNobody(view, plan);
  assert.equal(status, 401, `${titleOf(plan)} of nobody answered ${status}: ${text}`);
}

async function needsNoToken(view: ViewUnderTest, plan: OperationPlan): Promise<void> {
  const { status, text } = await sendAsNobody(view, plan);
  assert.notEqual(status, 401, `${titleOf(plan)} of nobody answered ${status}: ${text}`);
}

async function strangerUses(view: ViewUnderTest, plan: OperationPlan, may: boolean): Promise<void> {
  const { key } = await view.make();
  const shown = view.plans.find('retrieve');
  const before = shown && (await view.retrieve(key));
  const { status, text } = await sendAs('stranger', view, plan, key);
  const words = may ? 'does not let a stranger in' : 'lets a stranger in';
  assert.equal(!isTurnedAway(status), may, `${titleOf(plan)} ${words}: it answered ${status}: ${text}`);
  if (may || shown === undefined) return;
  assert.deepEqual(await view.retrieve(key), before, 'a stranger has changed the record');
}

async function strangerSees(view: ViewUnderTest, may: boolean): Promise<void> {
  const { key } = await view.make();
  const list = view.plans.get('list');
  const answer = await view.send(list, { as: 'stranger' });
  const shown = answer.status === 200 ? view.keysOf(await view.rows({}, 'stranger')) : [];
  assert.equal(
    shown.includes(String(key)),
    may,
    `${titleOf(list)} ${may ? 'hides' : 'shows'} the record ${String(key)} to a stranger`,
  );
}

async function hidesValues(view: ViewUnderTest): Promise<void> {
  const { meta, plans, keyName } = view;
  const names = meta.props.filter(({ hidden }) => hidden === true).map(({ name }) => name);
  const { key } = await view.make();
  const records = await view.app.forkAll().find<object>(meta.class, {});
  const record = records.find((each) => String((each as Record<string, unknown>)[keyName]) === String(key)) as
    | Readonly<Record<string, unknown>>
    | undefined;
  const secrets = names
    .map((name) => onWire(record?.[name]))
    .filter((value) => typeof value === 'string' && value.length > 3);
  for (const plan of plans.all.filter(
    ({ method, action }) => method === 'GET' && (action === 'list' || action === 'retrieve'),
  )) {
    const { text } = await view.send(plan, { key });
    for (const secret of secrets) assert.ok(!text.includes(String(secret)), `${titleOf(plan)} shows a hidden value`);
  }
}
