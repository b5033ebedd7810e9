import type { EntityName, MikroORM } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ModelViewSet, type ModelViewSetBase, type ModelViewSetClass, type ModelViewSetOptions } from '@viewset/core';
import { CHECK_AUTH } from './checked-views.ts';
import { logNoted } from './noted-events.ts';

/** The options of a ready-made view: those of ModelViewSet, which override the view's, and additional ones. */
export type ReadyViewOptions<Entity extends object> = Partial<ModelViewSetOptions<Entity>>;

/** The class of a ready-made view. The application's options override the view's. */
export type ReadyViewClass<Entity extends object, Ready, Options> = ModelViewSetClass<
  Entity,
  Omit<Ready, keyof Options> & Options
>;

/**
 * Makes the class that a ready-made view extends. It only knows the members that all such records share. Events that
 * its hooks note about a write are logged after the commit.
 *
 * @param checked checks the entities at start
 */
export function viewClass(
  entity: EntityName<object>,
  ready: object,
  options: object,
  checked?: { checkEntities(orm: Pick<MikroORM, 'getMetadata'>): void },
): new () => ModelViewSetBase {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const Made = ModelViewSet(entity, { ...ready, ...Object.fromEntries(given) } as never) as new () => ModelViewSetBase;
  return class extends Made {
    [CHECK_AUTH](_auth: object, orm: Pick<MikroORM, 'getMetadata'>): void {
      checked?.checkEntities(orm);
    }

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
