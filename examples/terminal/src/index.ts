export { logOptions, logRequests } from './terminal-log.ts';
