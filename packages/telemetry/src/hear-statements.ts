import type { LogContext, Logger, LoggerNamespace, MikroORM } from '@mikro-orm/core';

/** A finished statement. */
export interface RanStatement {
  readonly text: string;
  /** In whole milliseconds. */
  readonly tookMs: number;
  readonly isFailed: boolean;
}

export type StatementListener = (statement: RanStatement) => void;

/** The listeners of each logger. Several applications may share an ORM. */
const listenersOf = new WeakMap<Logger, Set<StatementListener>>();

/**
 * Calls a listener for each statement of an ORM, which MikroORM and core report to the ORM's logger. The logger's own
 * output does not change. Returns the function that removes the listener.
 */
export function hearStatements(orm: MikroORM, listener: StatementListener): () => void {
  const logger = orm.config.getLogger();
  const listeners = listenersOf.get(logger) ?? listenTo(logger);
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function listenTo(logger: Logger): Set<StatementListener> {
  const listeners = new Set<StatementListener>();
  listenersOf.set(logger, listeners);
  const original = {
    isEnabled: logger.isEnabled.bind(logger),
    logQuery: logger.logQuery.bind(logger),
    log: logger.log.bind(logger),
  };
  logger.isEnabled = (namespace, context) =>
    (namespace === 'query' && listeners.size > 0) || original.isEnabled(namespace, context);
  // The original `log` would ask the replaced `isEnabled`, so ask the original one here.
  logger.log = (namespace, message, context) => {
    if (original.isEnabled(namespace as LoggerNamespace, context)) original.log(namespace, message, context);
  };
  logger.logQuery = (context) => {
    const { namespace = 'query' } = context;
    // MikroORM reports slow statements a second time, in another namespace.
    if (namespace === 'query') for (const listener of listeners) listener(statementOf(context));
    if (original.isEnabled(namespace, context)) original.logQuery(context);
  };
  return listeners;
}

function statementOf({ query = '', took = 0, level }: LogContext): RanStatement {
  return { text: query, tookMs: took, isFailed: level === 'error' };
}
