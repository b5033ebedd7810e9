import type { Connection, EntityManager } from '@mikro-orm/core';
import { writeQueryLog } from '../../../mikro/query-log.ts';
import type { Reader } from './reader.ts';

/**
 * Returns a reader that also writes MikroORM's log, if that logs queries (`debug`) or slow ones (`slowQueryThreshold`).
 * Otherwise returns the same reader.
 */
export function logged(em: EntityManager, connection: Connection, reader: Reader): Reader {
  const { config } = em;
  const isLogging = config.getLogger().isEnabled('query') || config.get('slowQueryThreshold') !== undefined;
  return isLogging ? withLog(connection, reader) : reader;
}

function withLog(connection: Connection, reader: Reader): Reader {
  return {
    rows(statement, values, request) {
      const started = performance.now();
      const log = (outcome: Record<string, unknown>): void => {
        const took = Math.round(performance.now() - started);
        writeQueryLog(connection, statement.sql, { params: values, took, ...outcome });
      };
      try {
        const rows = reader.rows(statement, values, request);
        if (rows instanceof Promise) {
          const count = (found: unknown[][]): void => log({ results: found.length });
          rows.then(count, () => log({ level: 'error' }));
        } else {
          log({ results: rows.length });
        }
        return rows;
      } catch (error) {
        log({ level: 'error' });
        throw error;
      }
    },
  };
}
