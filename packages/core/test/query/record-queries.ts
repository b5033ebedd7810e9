import type { MikroORM } from '@mikro-orm/core';

/** The SQL, or the commands of MongoDB, that run from now on, through MikroORM or through query sets. */
export interface RecordedQueries {
  readonly texts: string[];
  /** The statements so far that read a table, or a collection. */
  readsOf(table: string): string[];
  /** The statements so far that create records. */
  inserts(): string[];
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
    readsOf: (table) => {
      const reads = new RegExp(
        `^select\\b.*\\bfrom "${table}"|^${table}\\.(find|aggregate)\\(|^db\\.getCollection\\('${table}'\\)\\.(find|aggregate)\\(`,
        's',
      );
      return texts.filter((text) => reads.test(text));
    },
    inserts: () => texts.filter((text) => /^insert\b|\.insertMany\(/.test(text)),
    stop: () => void Object.assign(logger, own),
  };
}
