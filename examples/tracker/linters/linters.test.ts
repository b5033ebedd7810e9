/** Lints the document of the tracker: nested collections, bulk requests, relations to many, files and exports. */
import { lintDocument, skipLinters as skip } from '../../../scripts/document-linters.ts';
import { withTracker } from '../test/tracker.ts';

withTracker(
  async (t, { app }) => {
    t.setTimeout(300_000);
    await t.test('linters find nothing in the document of the tracker', { skip }, async (t) => {
      lintDocument(t, (await app.inject('/openapi.json')).body);
    });
  },
  ['sqlite'],
);
