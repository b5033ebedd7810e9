/**
 * Uses clients generated from Conduit's document: each changes the current user, and writes, lists, favorites, comments on and deletes an
 * article. Bodies and responses have envelopes, and errors have a custom format.
 */
import { testGeneratedClients } from '../../../scripts/client-generators.ts';
import { withConduit } from '../test/conduit.ts';

withConduit(
  async (t, { app, register }) => {
    t.setTimeout(900_000);
    await app.listen({ port: 0, host: '127.0.0.1' });
    await testGeneratedClients(t, {
      name: 'conduit',
      document: (await app.inject('/openapi.json')).body,
      url: app.listeningOrigin,
      token: await register('ann'),
      programs: new URL('programs/', import.meta.url),
    });
  },
  ['sqlite'],
);
