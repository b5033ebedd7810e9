import type { FastifyInstance } from 'fastify';

/** An application that starts second in the same process has this time to mount its routers. */
const PATIENCE_MS = 1000;

/** The paths of the routers that no application has mounted. They do not keep the routers in memory. */
const unmounted = new Set<UnmountedPaths>();

/** The paths of a router, until it is mounted. */
export class UnmountedPaths {
  readonly #paths: string[] = [];

  add(path: string): void {
    this.#paths.push(path);
    unmounted.add(this);
  }

  clear(): void {
    unmounted.delete(this);
  }

  toString(): string {
    const [first = '', ...others] = this.#paths;
    return `a router with "${first}"${others.length > 0 ? ` and ${others.length} more` : ''}`;
  }
}

/**
 * Warns of routers with views that no application has mounted a second after this one listens: all their paths give
 * 404. It is no error, because a router may belong to an application that starts later.
 */
export function warnOfUnmountedRouters(app: FastifyInstance): void {
  let timer: NodeJS.Timeout | undefined;
  app.addHook('onListen', (done) => {
    timer = setTimeout(() => {
      const routers = [...unmounted].map(String);
      unmounted.clear();
      app.log.debug({ routers }, 'the routers were checked');
      for (const router of routers) {
        app.log.warn(`Router: ${router} was never mounted, so it gives 404: await app.register(router.plugin)`);
      }
    }, PATIENCE_MS).unref();
    done();
  });
  app.addHook('onClose', async () => clearTimeout(timer));
}
