export { outbox, type OutboxOptions } from './outbox.ts';
export { OutboxEvent } from './outbox-event.ts';
export { emit } from './emit.ts';
export { startOutbox, type OutboxWorker } from './worker/start-outbox.ts';
export type { WorkerLog, WorkerOptions } from './worker/options.ts';
export type { EventHandler, EventHandlers, HandledEvent, HandlerContext } from './worker/handlers.ts';
