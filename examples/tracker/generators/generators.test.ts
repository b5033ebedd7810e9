/**
 * Uses clients that generators make of the tracker's document: each lists with a filter, creates one record and several, deletes them,
 * exports, and uploads a file.
 */
import { testGeneratedClients } from '../../../scripts/client-generators.ts';
import { withTracker } from '../test/tracker.ts';

withTracker(
  async (t, { app, token }) => {
    t.setTimeout(900_000);
    await app.listen({ port: 0, host: '127.0.0.1' });
    await testGeneratedClients(t, {
      name: 'tracker',
      document: (await app.inject('/openapi.json')).body,
      url: app.listeningOrigin,
      token: token('ada'),
      programs: new URL('programs/', import.meta.url),
    });
  },
  ['sqlite'],
);
