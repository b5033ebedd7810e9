import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { type CheckedApplication, watchApplication } from './checked-application.ts';
import { findDifferingTables } from './differing-tables.ts';
import { findFieldsWithoutIndex } from './fields-without-index.ts';
import type { Finding } from './finding.ts';
import { findGuessableFields } from './guessable-fields.ts';
import { findLoginsWithoutThrottle, findOpenWrites } from './open-routes.ts';
import { sourceLine } from './source-line.ts';
import { findUnboundedLists } from './unbounded-lists.ts';

const PAGE = pageAddress();

/**
 * Prepares the check of an application. Call it before any plugin is registered. Once the application is ready, call
 * the returned function. It finds problems that do not stop the start but are likely to hurt later. It only reads from
 * the database.
 *
 * @example
 * const app = fastify();
 * const check = prepareCheck(app);
 * await app.ready();
 * for (const finding of await check()) console.warn(finding.code, finding.message);
 */
export function prepareCheck(app: FastifyInstance): () => Promise<readonly Finding[]> {
  const application = watchApplication(app);
  return () => checkApplication(application);
}

async function checkApplication(application: CheckedApplication): Promise<Finding[]> {
  const findings = [
    ...findOpenWrites(application),
    ...findLoginsWithoutThrottle(application),
    ...findGuessableFields(application),
    ...findUnboundedLists(application),
    ...findFieldsWithoutIndex(application),
    ...(await findDifferingTables(application)),
  ];
  // A view has several plans with one list, such as those of its exports.
  return [...new Map(findings.map((finding) => [`${finding.code} ${finding.message}`, finding])).values()];
}

/** Formats a finding for people: the line to change, the problem, the fix, and the page with more details. */
export function findingText({ code, message, change, declaredBy }: Finding, folder: string): string {
  const line = sourceLine(folder, declaredBy.className, declaredBy.word);
  return [
    `${line === undefined ? '' : `${line}  `}${message}`,
    `  change: ${change}`,
    `  page:   ${PAGE}#${code}`,
  ].join('\n');
}

/** Returns the page about findings in the repository that the manifest names, because an application has no folder `docs` with it. */
function pageAddress(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { homepage } = JSON.parse(manifest) as { readonly homepage: string };
  return `${homepage.replace(/\/tree\/main\/.*$/, '')}/blob/main/docs/check.md`;
}
