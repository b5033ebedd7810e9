/** Lets linters judge the document of Conduit: envelopes, errors in another format, actions that answer with records. */
import { lintDocument, skipLinters as skip } from '../../../scripts/document-linters.ts';
import { withConduit } from '../test/conduit.ts';

withConduit(
  async (t, { app }) => {
    t.setTimeout(300_000);
    await t.test('linters find nothing in the document of Conduit', { skip }, async (t) => {
      lintDocument(t, (await app.inject('/openapi.json')).body);
    });
  },
  ['sqlite'],
);
