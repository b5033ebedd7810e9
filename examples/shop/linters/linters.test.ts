/** Lints the document of the shop. */
import t from 'tap';
import { lintDocument, skipLinters as skip } from '../../../scripts/document-linters.ts';
import { startShop } from '../test/support/shop.ts';

t.test('linters find nothing in the document of the shop', { skip }, async (t) => {
  t.setTimeout(300_000);
  const shop = await startShop(t);
  lintDocument(t, await (await fetch(`${shop.url}/openapi.json`)).text());
});
