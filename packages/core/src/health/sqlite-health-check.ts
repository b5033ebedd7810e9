import { HealthCheck, type HealthCheckOptions } from './health-check.ts';
import { selectOne, type SqlSource } from './sql-source.ts';

/**
 * Asks SQLite for one row. Takes a MikroORM on SQLite, or a database of better-sqlite3.
 * Its name is `sqlite` unless another is given. Throws ImproperlyConfigured for another source or a wrong option.
 *
 * @example
 * health.register(new SqliteHealthCheck(orm));   // select 1
 */
export class SqliteHealthCheck extends HealthCheck {
  readonly #ask: () => Promise<void>;

  constructor(source: SqlSource, options: HealthCheckOptions = {}) {
    super({ name: 'sqlite', ...options });
    this.#ask = selectOne(new.target.name, source);
  }

  async check(): Promise<boolean> {
    await this.#ask();
    return true;
  }
}
