import type { FastifyInstance } from 'fastify';
import { outbox, type OutboxOptions } from '../../src/index.ts';

/** Registers the plugin, for the option `before` of `testApp`. */
export function withOutbox(options: OutboxOptions = {}) {
  return async (app: FastifyInstance): Promise<void> => {
    await app.register(outbox, options);
  };
}
