/** The table of docs/errors.md and the classes of src/errors.ts say the same, both ways. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import t from 'tap';
import * as errors from '../../src/errors/errors.ts';

/** One error of each class that src/errors.ts exports. */
const made = Object.entries(errors)
  .filter(([, value]) => value.prototype instanceof errors.HttpError)
  .map(([name, value]) => Reflect.construct(value, argumentsFor(name)) as errors.HttpError);

/** What the constructors that need something are given. */
function argumentsFor(name: string): readonly unknown[] {
  if (name === 'MethodNotAllowed') return ['PUT', ['GET', 'HEAD']];
  if (name === 'TooManyRequests') return [1.2];
  return name === 'ImproperlyConfigured' ? ['secret must have 32 bytes'] : [];
}

t.test('an error at start is printed without the properties of a response', async (t) => {
  const error = new errors.ImproperlyConfigured('X: option "y" must be a text');
  t.match(
    inspect(error),
    /^ImproperlyConfigured: X: option "y" must be a text\n[^{]*\{\n {2}code: 'improperly_configured'\n\}$/,
  );
  t.match(error, { statusCode: 500, code: 'improperly_configured', event: undefined });
});

t.test('docs/errors.md lists each class with its status and code, and nothing else', async (t) => {
  const text = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| (\d{3}) \| `(\w+)` \| `(\w+)` \| .+ \|$/gm)];
  const documented = rows.map((row) => row.slice(1, 4).join(' '));
  const actual = made.map(({ statusCode, code, name }) => `${statusCode} ${code} ${name}`);
  t.strictSame(documented.toSorted(), actual.toSorted());
});

t.test('the body of an error contains its message and code, but not its cause or the configuration', async (t) => {
  for (const error of made) t.match(error.toBody(), { error: /^[A-Z]/, code: error.code }, error.name);
  const bodies = [...made, new errors.NotFound(undefined, { cause: new Error('secret') })].map((error) =>
    error.toBody(),
  );
  t.notMatch(JSON.stringify(bodies), /secret/);
});

t.test('details and headers are kept', async (t) => {
  const details: errors.ErrorDetail[] = [{ in: 'body', path: '/price', message: 'must be > 0' }];
  t.strictSame(new errors.InvalidUsage('No', { details }).toBody(), { error: 'No', code: 'invalid_usage', details });
  t.strictSame(new errors.MethodNotAllowed('PUT', ['GET', 'HEAD']).headers, { allow: 'GET, HEAD' });
  t.strictSame(new errors.TooManyRequests(1.2).headers, { 'retry-after': '2' }, 'whole seconds, rounded up');
  const headers = { 'www-authenticate': 'Bearer error="invalid_token"' };
  t.strictSame(new errors.Unauthorized('No', { headers }).headers, headers);
});
