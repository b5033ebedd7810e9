import { Permission } from './permission.ts';

/** Lets everybody in: says that it is meant, where an empty list would leave it open. */
export class AllowAny extends Permission {}
