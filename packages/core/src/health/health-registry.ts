import { ImproperlyConfigured } from '../errors.ts';
import { checkOptionNames, wrongOption } from '../options.ts';
import { type HealthCheck, validateHealthCheck } from './health-check.ts';
import { type CheckReport, type HealthLog, type HealthReport, WatchedCheck } from './watched-check.ts';

/** The options of a registry. */
export interface HealthRegistryOptions {
  /** The time for which the result of a check is given again instead of a new one, in milliseconds; 0: none. Default: 1000. */
  readonly cacheMs?: number;
}

const OPTION_NAMES: readonly (keyof HealthRegistryOptions)[] = ['cacheMs'];

/**
 * The checks of an application. They run side by side, each under its own time limit; a result is shared by all who ask
 * for it at the same time and for a moment after, so that nobody loads the stores by asking.
 *
 * @example
 * const health = new HealthRegistry();
 * health.register(new PostgresHealthCheck(orm)).register(new RedisHealthCheck(redis));
 * await app.register(viewset, { orm, health });   // GET /health/
 */
export class HealthRegistry {
  readonly #cacheMs: number;
  readonly #checks = new Map<string, WatchedCheck>();
  #isShuttingDown = false;

  constructor(options: HealthRegistryOptions = {}) {
    checkOptionNames('HealthRegistry', options, OPTION_NAMES);
    const { cacheMs = 1000 } = options;
    if (!(cacheMs >= 0 && cacheMs < Infinity)) {
      throw wrongOption('HealthRegistry', 'cacheMs', 'a number of milliseconds', cacheMs);
    }
    this.#cacheMs = cacheMs;
  }

  /** Adds a check. Throws ImproperlyConfigured for something else, and for a name that is taken. */
  register(check: HealthCheck): this {
    validateHealthCheck(check);
    if (this.#checks.has(check.name)) {
      throw new ImproperlyConfigured(
        `HealthRegistry: a check named "${check.name}" is registered already; give this one another name`,
      );
    }
    this.#checks.set(check.name, new WatchedCheck(check, this.#cacheMs));
    return this;
  }

  /** Runs the checks, but for those that said something a moment ago. Never rejects. */
  async run(log?: HealthLog): Promise<HealthReport> {
    return this.#report([...this.#checks.values()], log);
  }

  /**
   * Tells whether requests may be sent here: the report of the essential checks, or `unavailable` and no checks once the
   * application has begun to shut down. Never rejects.
   */
  async readiness(log?: HealthLog): Promise<HealthReport> {
    if (this.#isShuttingDown) return { status: 'unavailable', checks: {} };
    const essential = [...this.#checks.values()].filter(({ check }) => check.isEssential);
    const report = await this.#report(essential, log);
    // The shutdown may have begun meanwhile.
    return this.#isShuttingDown ? { status: 'unavailable', checks: {} } : report;
  }

  /**
   * From now on `readiness` is `unavailable`. Called when the server closes; call it earlier to let a load balancer
   * notice before connections are refused.
   */
  beginShutdown(): void {
    this.#isShuttingDown = true;
  }

  async #report(checks: readonly WatchedCheck[], log: HealthLog | undefined): Promise<HealthReport> {
    const reports = await Promise.all(
      checks.map(async (watched): Promise<[string, CheckReport]> => [watched.check.name, await watched.run(log)]),
    );
    const isWell = reports.every(([, { status }]) => status === 'ok');
    return { status: isWell ? 'ok' : 'unavailable', checks: Object.fromEntries(reports) };
  }
}
