import assert from 'node:assert/strict';
import type { OperationPlan } from '@viewset/core';
import { bodyOf } from './record-cases.ts';
import { isTurnedAway, type SuiteCase, titleOf, type ViewUnderTest } from './view-under-test.ts';

const OPERATIONS: ReadonlySet<string> = new Set(['list', 'create', 'retrieve', 'update', 'destroy']);

/**
 * Lists the case for an action: its response must match the document. Empty if the action needs parameters that the kit
 * does not know.
 */
export function actionCases(plan: OperationPlan): SuiteCase[] {
  const { action, queryParameters } = plan;
  if (OPERATIONS.has(action) || queryParameters.some(({ required }) => required)) return [];
  return [[`${action} answers as its document says`, (view) => answersAsPromised(view, plan)]];
}

async function answersAsPromised(view: ViewUnderTest, plan: OperationPlan): Promise<void> {
  const key = plan.detail ? (await view.make()).key : undefined;
  const { status, text } = await view.send(plan, { key, ...(await bodyOf(view, plan)) });
  assert.ok(!isTurnedAway(status), `${titleOf(plan)} answered the user ${status}: ${text}`);
}
