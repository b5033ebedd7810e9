/** Lints the document of Conduit: envelopes, a custom error format, actions that return records. */
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
