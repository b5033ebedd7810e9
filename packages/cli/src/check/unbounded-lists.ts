import { type CheckedApplication, operationsOf } from './checked-application.ts';
import type { Finding } from './finding.ts';

/** A page is held in memory as a whole, by the server and by the client. */
const MAX_PAGE_SIZE = 1000;

/** Finds the lists that a client can ask for as a whole, or in very large pages. */
export function findUnboundedLists(application: CheckedApplication): Finding[] {
  return operationsOf(application).flatMap(({ plan: { list, view, path } }): Finding[] => {
    if (list === undefined) return [];
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
