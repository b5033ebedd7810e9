import type { MikroORM } from '@mikro-orm/core';

/** The SQL that runs from now on, through MikroORM or through query sets. */
export interface RecordedQueries {
  readonly texts: string[];
  stop(): void;
}

/** Listens to MikroORM's log, which query sets write to as well. */
export function recordQueries(orm: MikroORM): RecordedQueries {
  const texts: string[] = [];
  const logger = orm.config.getLogger();
  const own = { isEnabled: logger.isEnabled.bind(logger), logQuery: logger.logQuery.bind(logger) };
  logger.isEnabled = (namespace) => namespace === 'query';
  logger.logQuery = (context) => void texts.push(String(context.query));
  return {
    texts,
    stop: () => void Object.assign(logger, own),
  };
}
