import t from 'tap';
import { kebabCase as ofServer } from '../../core/src/support/kebab-case.ts';
import { kebabCase } from '../src/url.ts';

t.test('the path of an action is the one that the server makes', async (t) => {
  const names = {
    mostPopular: 'most-popular',
    HTMLPage: 'html-page',
    asPDF: 'as-pdf',
    top10Books: 'top10-books',
    sold_out__now: 'sold-out-now',
    x: 'x',
    été: 'été',
  };
  for (const [name, path] of Object.entries(names)) t.strictSame([kebabCase(name), ofServer(name)], [path, path]);
});
