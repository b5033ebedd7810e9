import type { EntityName } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ModelViewSet, type ModelViewSetBase, type ModelViewSetClass, type ModelViewSetOptions } from '@viewset/core';
import { logNoted } from './noted-events.ts';

/** The options of a ready-made view: those of ModelViewSet, which replace the view's, and further ones. */
export type ReadyViewOptions<Entity extends object> = Partial<ModelViewSetOptions<Entity>>;

/** The class of a ready-made view. Options of the application replace those of the view. */
export type ReadyViewClass<Entity extends object, Own, Options> = ModelViewSetClass<
  Entity,
  Omit<Own, keyof Options> & Options
>;

/**
 * Makes the class that a ready-made view extends. Its records are known by what they share alone. What its hooks note of a write is logged once
 * the write is committed.
 */
export function viewClass(entity: EntityName<object>, own: object, options: object): new () => ModelViewSetBase {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const Made = ModelViewSet(entity, { ...own, ...Object.fromEntries(given) } as never) as new () => ModelViewSetBase;
  return class extends Made {
    override create(request: FastifyRequest, reply: FastifyReply): Promise<object> {
      return logNoted(request, () => super.create(request, reply));
    }

    override createMany(request: FastifyRequest, reply: FastifyReply): Promise<object[]> {
      return logNoted(request, () => super.createMany(request, reply));
    }

    override update(request: FastifyRequest, reply: FastifyReply): Promise<object> {
      return logNoted(request, () => super.update(request, reply));
    }

    override updateMany(request: FastifyRequest, reply: FastifyReply): Promise<object[]> {
      return logNoted(request, () => super.updateMany(request, reply));
    }

    override destroy(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      return logNoted(request, () => super.destroy(request, reply));
    }

    override destroyMany(request: FastifyRequest, reply: FastifyReply): Promise<void> {
      return logNoted(request, () => super.destroyMany(request, reply));
    }
  };
}
