import { HealthCheck, type HealthCheckOptions } from './health-check.ts';
import { selectOne, type SqlSource } from './sql-source.ts';

/**
 * Asks PostgreSQL for one row. Takes a MikroORM on PostgreSQL, or a pool or client of `pg`.
 * Its name is `postgresql` unless another is given. Throws ImproperlyConfigured for another source or a wrong option.
 *
 * @example
 * health.register(new PostgresHealthCheck(orm));   // select 1
 */
export class PostgresHealthCheck extends HealthCheck {
  readonly #ask: () => Promise<void>;

  constructor(source: SqlSource, options: HealthCheckOptions = {}) {
    super({ name: 'postgresql', ...options });
    this.#ask = selectOne(new.target.name, source);
  }

  async check(): Promise<boolean> {
    await this.#ask();
    return true;
  }
}
