export { live, notifyLists } from './live.ts';
export type { LiveOptions } from './live-options.ts';
export { ListChange, ListVersion } from './list-change.ts';
export { mongoWakeUps, postgresWakeUps, redisWakeUps, type WakeUps } from './wake-ups.ts';
