export { prepareCheck } from './check/check-app.ts';
export type { Finding, FindingCode } from './check/finding.ts';
export { tellRoutes } from './route-table.ts';
