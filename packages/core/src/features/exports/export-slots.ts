import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceUnavailable } from '../../errors/errors.ts';

const SLOTS: unique symbol = Symbol('viewset.export-slots');

interface ExportSlots {
  free: number;
}

/** Limits how many exports of an application run at once. */
export function limitExports(app: FastifyInstance, maxExports: number): void {
  app.decorate<ExportSlots>(SLOTS, { free: maxExports });
}

/**
 * Takes a slot for an export until its response ends, in any way. An export holds a batch of records while its client
 * reads.
 *
 * @throws ServiceUnavailable with `Retry-After` if no slot is free
 */
export function takeExportSlot(request: FastifyRequest, reply: FastifyReply): void {
  const slots = request.server.getDecorator<ExportSlots>(SLOTS);
  if (slots.free <= 0) {
    throw new ServiceUnavailable('Too many exports are being sent here; try again shortly', {
      headers: { 'retry-after': '5' },
    });
  }
  if (reply.raw.destroyed) return;
  slots.free -= 1;
  reply.raw.once('close', () => (slots.free += 1));
}
