export { tellRoutes } from './route-table.ts';
export { logOptions, logRequests } from './terminal-log.ts';
