import type { FastifyInstance } from 'fastify';
import type { NonAuthEndpoints } from '../tokens/non-auth-endpoints.ts';

/**
 * Warns at start of each view that creates accounts without a token, in an application with logins by other services.
 * These link to the account of a verified address. So somebody could make an account with the address of another person
 * first, and then share it. The plugin's own registration requires a code that was sent to the address.
 *
 * @param entity the name of the entity of accounts
 */
export function warnOfSignUps(app: FastifyInstance, entity: string, endpoints: NonAuthEndpoints): void {
  app.addHook('onReady', async () => {
    for (const { action, view, method, path, allowsAnonymous, refusesAnonymous } of app.viewset.operations) {
      const needsNoToken = !refusesAnonymous && (allowsAnonymous || endpoints.includes(method, path));
      if (action !== 'create' || view.entity !== entity || !needsNoToken) continue;
      app.log.warn(
        { view: view.name, route: `${method} ${path}` },
        `auth: ${view.name} creates accounts without a token, and option "oauth" links logins by other services to them: verify each address by a code (app.auth.codes), or use POST /register`,
      );
    }
  });
}
