import { wrongOption } from '../options.ts';
import { HealthCheck, type HealthCheckOptions } from './health-check.ts';
import type { OrmSource } from './sql-source.ts';

/** A database handle of the `mongodb` driver, as far as it is needed. */
interface MongoDatabase {
  command(command: { ping: 1 }): Promise<{ readonly ok?: unknown }>;
}

/** A MikroORM on MongoDB, or a MongoClient. */
export type MongoSource = OrmSource | { db(): MongoDatabase };

/**
 * Asks MongoDB for a ping. Takes a MikroORM on MongoDB, or a `MongoClient`. Its name is `mongodb` unless another
 * is given. Throws ImproperlyConfigured for another source or a wrong option.
 *
 * @example
 * health.register(new MongoHealthCheck(orm));   // { ping: 1 }
 */
export class MongoHealthCheck extends HealthCheck {
  readonly #source: MongoSource;

  constructor(source: MongoSource, options: HealthCheckOptions = {}) {
    super({ name: 'mongodb', ...options });
    const { em, db } = (source ?? {}) as Partial<OrmSource & { db: unknown }>;
    if (em === undefined && typeof db !== 'function') {
      throw wrongOption(new.target.name, 'source', 'a MikroORM or a MongoClient', source);
    }
    this.#source = source;
  }

  async check(): Promise<boolean> {
    const { ok } = await this.#database().command({ ping: 1 });
    return ok === 1;
  }

  #database(): MongoDatabase {
    if (!('em' in this.#source)) return this.#source.db();
    return (this.#source.em.getConnection() as { getDb(): MongoDatabase }).getDb();
  }
}
