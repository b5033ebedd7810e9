import type { LogContext, Logger, LoggerNamespace, MikroORM } from '@mikro-orm/core';

/** A statement that has run. */
export interface RanStatement {
  readonly text: string;
  /** In milliseconds, as whole ones. */
  readonly tookMs: number;
  readonly isFailed: boolean;
}

export type StatementListener = (statement: RanStatement) => void;

/** The listeners of a log. Several applications may share an ORM. */
const heard = new WeakMap<Logger, Set<StatementListener>>();

/**
 * Hears every statement of an ORM from now on: MikroORM tells its log of each, and core does the same. What the log itself writes stays
 * as it was. Returns the function that ends it.
 */
export function hearStatements(orm: MikroORM, listener: StatementListener): () => void {
  const logger = orm.config.getLogger();
  const listeners = heard.get(logger) ?? listenTo(logger);
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function listenTo(logger: Logger): Set<StatementListener> {
  const listeners = new Set<StatementListener>();
  heard.set(logger, listeners);
  const own = {
    isEnabled: logger.isEnabled.bind(logger),
    logQuery: logger.logQuery.bind(logger),
    log: logger.log.bind(logger),
  };
  logger.isEnabled = (namespace, context) =>
    (namespace === 'query' && listeners.size > 0) || own.isEnabled(namespace, context);
  // The log asks isEnabled itself before it writes.
  logger.log = (namespace, message, context) => {
    if (own.isEnabled(namespace as LoggerNamespace, context)) own.log(namespace, message, context);
  };
  logger.logQuery = (context) => {
    const { namespace = 'query' } = context;
    // MikroORM tells of a slow statement once more.
    if (namespace === 'query') for (const listener of listeners) listener(statementOf(context));
    if (own.isEnabled(namespace, context)) own.logQuery(context);
  };
  return listeners;
}

function statementOf({ query = '', took = 0, level }: LogContext): RanStatement {
  return { text: query, tookMs: took, isFailed: level === 'error' };
}
