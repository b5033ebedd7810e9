import { ImproperlyConfigured } from '../errors/errors.ts';
import { checkOptionNames, wrongOption } from '../errors/options.ts';
import { type HealthCheck, validateHealthCheck } from './health-check.ts';
import { type CheckReport, type HealthLog, type HealthReport, WatchedCheck } from './watched-check.ts';

/** The options of a registry. */
export interface HealthRegistryOptions {
  /** How long the result of a check is reused, in milliseconds; 0: never. Default: 1000. */
  readonly cacheMs?: number;
}

const OPTION_NAMES: readonly (keyof HealthRegistryOptions)[] = ['cacheMs'];

/**
 * The checks of an application. They run in parallel, each with its own time limit. Concurrent requests share a result,
 * and it is reused for `cacheMs`. So requests to the health routes put no load on the stores.
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

  /** Adds a check. Throws ImproperlyConfigured if it is not a check, or if its name is taken. */
  register(check: HealthCheck): this {
    validateHealthCheck(check);
    if (this.#checks.has(check.name)) {
      throw new ImproperlyConfigured(
        `HealthRegistry: a check named "${check.name}" is registered already; give this one another name`,
      );
    }
    this.#checks.set(check.name, new WatchedCheck(check, this.#cacheMs));
    for (const further of check.further()) this.register(further);
    return this;
  }

  /** Runs the checks, except those with a recent result. Never rejects. */
  async run(log?: HealthLog): Promise<HealthReport> {
    return this.#report([...this.#checks.values()], log);
  }

  /**
   * Reports whether this process accepts requests: the essential checks, or `unavailable` without checks once the
   * application has begun to shut down. Never rejects.
   */
  async readiness(log?: HealthLog): Promise<HealthReport> {
    if (this.#isShuttingDown) return { status: 'unavailable', checks: {} };
    const essential = [...this.#checks.values()].filter(({ check }) => check.isEssential);
    const report = await this.#report(essential, log);
    // The shutdown may have begun in the meantime.
    return this.#isShuttingDown ? { status: 'unavailable', checks: {} } : report;
  }

  /**
   * Makes `readiness` `unavailable` from now on. The server calls it when it closes. Call it earlier, so that a load balancer notices
   * before connections are refused.
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
