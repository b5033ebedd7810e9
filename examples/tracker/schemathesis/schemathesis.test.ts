/** Runs Schemathesis against the tracker: nested collections, several records at once, relations to many, files and exports. */
import { fileURLToPath } from 'node:url';
import { runSchemathesis, skipSchemathesis as skip } from '../../../scripts/schemathesis.ts';
import { withTracker } from '../test/tracker.ts';

const files = {
  config: fileURLToPath(new URL('schemathesis.toml', import.meta.url)),
  hooks: fileURLToPath(new URL('hooks.py', import.meta.url)),
};

withTracker(
  async (t, { app, token }) => {
    t.setTimeout(3_600_000);
    await t.test('an owner is logged in', { skip }, async (t) => {
      t.equal(await runSchemathesis(await app.listen(), files, { token: token('ada') }), 0);
    });
  },
  ['sqlite'],
);
