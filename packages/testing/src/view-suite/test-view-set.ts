import type { MikroORM } from '@mikro-orm/core';
import type { FastifyInstance } from 'fastify';
import type { TestApp } from '../test-app.ts';
import { type ViewClass, ViewPlans } from '../view-plans.ts';
import { accessCases, hiddenCases } from './access-cases.ts';
import { actionCases } from './action-cases.ts';
import { listCases } from './list-cases.ts';
import type { TestViewSetOptions, ViewSetCase } from './options.ts';
import { bodyCases, recordCases } from './record-cases.ts';
import { type SuiteCase, type SuiteRepairs, takesJson, ViewUnderTest } from './view-under-test.ts';
import { createCases, updateCases } from './write-cases.ts';

/**
 * Makes tests from the declarations of a view. Each filter, order, page, bound, required field, permission, tag and
 * error that it promises is a case with its own application. Every response must have a status and a body that the
 * operation's document allows.
 *
 * Rejects if the application has no route of the view, or if `skip` names an unknown case.
 *
 * @example
 * const build = async (orm: MikroORM) => {
 *   const app = fastify();
 *   await app.register(viewset, { orm });
 *   await app.register(new Router({ prefix: 'api' }).register('products', ProductViewSet).plugin);
 *   return app;
 * };
 * const app = () => testApp(build, { entities: [Product] });
 * for (const { name, run } of await testViewSet(ProductViewSet, { app })) await run();
 * // with a test runner: testViewSet(ProductViewSet, { app, test }), `test` of node:test
 */
export async function testViewSet<Orm extends MikroORM, App extends FastifyInstance>(
  View: ViewClass,
  options: TestViewSetOptions<Orm, App>,
): Promise<readonly ViewSetCase[]> {
  const { app, test, skip = [] } = options;
  const open = app as unknown as TestViewSetOptions['app'];
  const first = await open();
  const plans = new ViewPlans(first.app, View);
  const checks = casesOf(plans, options);
  const repairs = await learnRepairs(first, plans, options as unknown as TestViewSetOptions);
  await first.close();
  const unknown = skip.find((name) => checks.every(([known]) => known !== name));
  if (unknown !== undefined) throw new Error(`testViewSet: ${View.name} has no case "${unknown}" to skip`);
  const cases = checks
    .filter(([name]) => !skip.includes(name))
    .map(([name, check]) => ({
      name: `${View.name}: ${name}`,
      run: () => runAlone(View, check, { open, options, repairs }),
    }));
  for (const { name, run } of cases) test?.(name, run);
  return cases;
}

async function runAlone<Orm extends MikroORM, App extends FastifyInstance>(
  View: ViewClass,
  check: SuiteCase[1],
  {
    open,
    options,
    repairs,
  }: {
    readonly open: TestViewSetOptions['app'];
    readonly options: TestViewSetOptions<Orm, App>;
    readonly repairs: SuiteRepairs;
  },
): Promise<void> {
  const app = await open();
  try {
    const plans = new ViewPlans(app.app, View);
    await check(await ViewUnderTest.of(app, plans, options as unknown as TestViewSetOptions, repairs));
  } finally {
    await app.close();
  }
}

/**
 * Finds out how rules over several fields want the generated bodies of writes. What fails here fails again in the cases,
 * which report it.
 */
async function learnRepairs(app: TestApp, plans: ViewPlans, options: TestViewSetOptions): Promise<SuiteRepairs> {
  const repairs: SuiteRepairs = new Map();
  const writes = ['create', 'update'].flatMap((action) => plans.all.filter((plan) => plan.action === action));
  try {
    const view = await ViewUnderTest.of(app, plans, options, repairs);
    for (const plan of writes.filter(({ body, variant }) => body !== undefined && variant === undefined)) {
      if (takesJson(plan)) await view.learn(plan);
    }
  } catch {
    // The cases meet the same error.
  }
  return repairs;
}

function casesOf(
  plans: ViewPlans,
  { stranger, strangerMay = [] }: Pick<TestViewSetOptions, 'strangerMay'> & { readonly stranger?: unknown },
): SuiteCase[] {
  const cases = plans.all.flatMap((plan): SuiteCase[] => [
    ...(plan.action === 'list' ? listCases(plan) : []),
    ...(plan.action === 'create' && takesJson(plan) ? createCases(plan) : []),
    ...(plan.action === 'update' && takesJson(plan) ? updateCases(plan) : []),
    ...recordCases(plan),
    ...bodyCases(plan),
    ...actionCases(plan),
    ...accessCases(plan, { strangerMay: stranger === undefined ? undefined : strangerMay }),
  ]);
  return [...cases, ...hiddenCases()];
}
