export { prepareCheck } from './check/check-app.ts';
export type { Finding, FindingCode } from './check/finding.ts';
export { printRoutes } from './route-table.ts';
