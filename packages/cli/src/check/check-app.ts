import type { FastifyInstance } from 'fastify';
import { type CheckedApplication, watchApplication } from './checked-application.ts';
import { findDifferingTables } from './differing-tables.ts';
import { findFieldsWithoutIndex } from './fields-without-index.ts';
import type { Finding } from './finding.ts';
import { findGuessableFields } from './guessable-fields.ts';
import { findLoginsWithoutThrottle, findOpenWrites } from './open-routes.ts';
import { sourceLine } from './source-line.ts';
import { findUnboundedLists } from './unbounded-lists.ts';

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
  return [
    ...findOpenWrites(application),
    ...findLoginsWithoutThrottle(application),
    ...findGuessableFields(application),
    ...findUnboundedLists(application),
    ...findFieldsWithoutIndex(application),
    ...(await findDifferingTables(application)),
  ];
}

/** Formats a finding for people: the line to change, the problem, the fix, and the page with more details. */
export function findingText({ code, message, change, declaredBy }: Finding, folder: string): string {
  const line = sourceLine(folder, declaredBy.className, declaredBy.word);
  return [
    `${line === undefined ? '' : `${line}  `}${message}`,
    `  change: ${change}`,
    `  page:   docs/check.md#${code}`,
  ].join('\n');
}
