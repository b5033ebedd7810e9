import { AssertionError } from 'node:assert';
import type { LogContext, MikroORM } from '@mikro-orm/core';

/** The begin and end of transactions, which not every database sends. */
const BRACKETS = /^(?:begin|commit|rollback|savepoint|release savepoint)\b|^db\.(?:begin|commit|rollback)/i;

/**
 * Runs some work, and counts the SQL statements or MongoDB commands that the ORM runs meanwhile, from views and from
 * the unit of work. The begin and end of transactions do not count. Run nothing else on the ORM at the same time.
 *
 * @throws AssertionError if another number of queries ran; its message lists them
 * @example
 * const orm = await MikroORM.init({ dbName: ':memory:', entities: [Product] });
 * await expectQueries(orm, 1, () => orm.em.fork().find(Product, {}));
 */
export async function expectQueries<Result>(
  orm: MikroORM,
  expected: number,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  const queries: string[] = [];
  const result = await recordQueries(orm, work, ({ query }) => {
    if (!BRACKETS.test(String(query))) queries.push(String(query));
  });
  if (queries.length !== expected) throw mismatch(queries, expected);
  return result;
}

/** Runs some work, and calls a function with each statement or command that the ORM runs meanwhile. */
export async function recordQueries<Result>(
  orm: MikroORM,
  work: () => Result | Promise<Result>,
  onQuery: (context: LogContext) => void,
): Promise<Result> {
  const logger = orm.config.getLogger();
  const original = { isEnabled: logger.isEnabled.bind(logger), logQuery: logger.logQuery.bind(logger) };
  logger.isEnabled = (namespace, context) => namespace === 'query' || original.isEnabled(namespace, context);
  logger.logQuery = (context) => {
    onQuery(context);
    if (original.isEnabled('query', context)) original.logQuery(context);
  };
  try {
    return await work();
  } finally {
    Object.assign(logger, original);
  }
}

function mismatch(queries: readonly string[], expected: number): AssertionError {
  const lines = queries.map((query, index) => `${index + 1}. ${query}`);
  const message = [`${expected} queries were expected, but ${queries.length} ran:`, ...lines].join('\n');
  return new AssertionError({ message, actual: queries.length, expected, operator: 'expectQueries' });
}
