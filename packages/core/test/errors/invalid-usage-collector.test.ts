import t from 'tap';
import { InvalidUsage } from '../../src/errors/errors.ts';
import { InvalidUsageCollector } from '../../src/errors/invalid-usage-collector.ts';
import { invalidParameter } from '../../src/http/parameters.ts';

const fail = (name: string) => () => {
  throw invalidParameter(name, 'is wrong');
};

t.test('steps that succeed give their results, and nothing is thrown', async (t) => {
  const problems = new InvalidUsageCollector();
  t.equal(
    problems.attempt(() => 1),
    1,
  );
  t.doesNotThrow(() => problems.throwIfAny());
});

t.test('a single failure is thrown unchanged', async (t) => {
  const problems = new InvalidUsageCollector();
  const error = new InvalidUsage('no');
  t.equal(
    problems.attempt(() => {
      throw error;
    }),
    undefined,
  );
  t.throws(() => problems.throwIfAny(), error);
});

t.test('several failures become one error that names them all', async (t) => {
  const problems = new InvalidUsageCollector();
  problems.attempt(fail('page'));
  problems.attempt(fail('sort'));
  t.throws(() => problems.throwIfAny(), {
    message: 'Query parameter "page" is wrong; Query parameter "sort" is wrong',
    details: [
      { in: 'query', path: '/page', message: 'is wrong' },
      { in: 'query', path: '/sort', message: 'is wrong' },
    ],
  });
});

t.test('any other error passes through at once', async (t) => {
  const problems = new InvalidUsageCollector();
  t.throws(() => problems.attempt(() => JSON.parse('{') as unknown), SyntaxError);
});
