import axe from 'axe-core';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';

/** Asks axe, and whether everything is within the screen. The page has to be open with `bypassCSP`, for axe. */
export async function look(t: Test, page: Page, place: string): Promise<void> {
  t.strictSame(await violationsOf(page), [], place);
  t.ok(await isWithinScreen(page), `${place}: within the screen`);
}

/** Returns what axe finds, each with its first place. */
export async function violationsOf(page: Page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return violations.map(({ id, nodes }) => [id, nodes[0]?.html, nodes[0]?.failureSummary] as const);
}

export function isWithinScreen(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
}
