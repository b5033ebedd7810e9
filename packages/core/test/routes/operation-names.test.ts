import t from 'tap';
import { summaryOf } from '../../src/routes/operation-names.ts';

t.test('summaries use the article that fits the pronunciation', (t) => {
  const summary = (basename: string) =>
    summaryOf({
      action: 'create',
      variant: undefined,
      method: 'POST',
      detail: false,
      basename,
      isSingleton: false,
      entity: undefined,
      parent: undefined,
    });
  t.strictSame(['users', 'issues', 'units', 'uploads', 'urls', 'books', 'orders'].map(summary), [
    'Create a user',
    'Create an issue',
    'Create a unit',
    'Create an upload',
    'Create a url',
    'Create a book',
    'Create an order',
  ]);
  t.end();
});
