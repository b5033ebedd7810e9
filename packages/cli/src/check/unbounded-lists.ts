import { type CheckedApplication, operationsOf } from './checked-application.ts';
import type { Finding } from './finding.ts';

/** Larger pages are a problem because server and client hold a whole page in memory. */
const MAX_PAGE_SIZE = 1000;

/** Finds lists that clients can request without pages, or in very large pages. */
export function findUnboundedLists(application: CheckedApplication): Finding[] {
  return operationsOf(application).flatMap(({ plan: { list, view, path, variant } }): Finding[] => {
    // An export is sent record by record: it has no page.
    if (list === undefined || variant !== undefined) return [];
    const { pageSizes } = list;
    const declaredBy = { className: view.name, word: pageSizes === null ? 'pagination' : 'maxPageSize' };
    if (pageSizes === null) {
      const message = `${view.name}: GET ${path} sends all records at once, however many there are`;
      return [{ code: 'unbounded-list', message, change: 'remove "pagination: null"', declaredBy }];
    }
    if (pageSizes.maxPageSize <= MAX_PAGE_SIZE) return [];
    const message = `${view.name}: a page of GET ${path} may have ${pageSizes.maxPageSize} records`;
    return [{ code: 'unbounded-list', message, change: `maxPageSize: ${MAX_PAGE_SIZE},`, declaredBy }];
  });
}
