export { tellRoutes } from './route-table.ts';
