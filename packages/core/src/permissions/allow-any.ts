import { Permission } from './permission.ts';

/** Lets everybody do everything; says so where a view is meant to be open. */
export class AllowAny extends Permission {}
