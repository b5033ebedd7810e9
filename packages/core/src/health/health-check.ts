import { checkOptionNames, wrongOption } from '../errors/options.ts';

/** The options of every built-in check. */
export interface HealthCheckOptions {
  /** The name of the check in the report. */
  readonly name?: string;
  /** The time limit of the check, in milliseconds. Default: 2000. */
  readonly timeoutMs?: number;
  /** False: the application can work without it, so a failure does not change `/health/ready`. Default: true. */
  readonly isEssential?: boolean;
}

export const OPTION_NAMES: readonly (keyof HealthCheckOptions)[] = ['name', 'timeoutMs', 'isEssential'];

/**
 * Checks that something the application depends on works. If the check throws, hangs, or returns anything but true, it
 * is reported as `unavailable`. Other checks are not affected.
 *
 * @example
 * class DiskHealthCheck extends HealthCheck {
 *   override readonly name = 'disk';
 *   override async check() {
 *     const { bavail, blocks } = await statfs('/var/data');
 *     return bavail / blocks > 0.05;
 *   }
 * }
 * health.register(new DiskHealthCheck());
 */
export abstract class HealthCheck {
  /** The name of the check in the report, unique in a registry. */
  readonly name: string;
  /** The time limit of the check, in milliseconds. Default: 2000. */
  readonly timeoutMs: number;
  /** True: `/health/ready` depends on the check. Default: true. */
  readonly isEssential: boolean;

  /**
   * @param known the names of the options of this check
   * @throws ImproperlyConfigured for an unknown option
   */
  constructor(options: HealthCheckOptions = {}, known: readonly string[] = OPTION_NAMES) {
    checkOptionNames(new.target.name, options, known);
    this.name = options.name ?? '';
    this.timeoutMs = options.timeoutMs ?? 2000;
    this.isEssential = options.isEssential ?? true;
  }

  /** Returns checks that are registered along with this one, such as those of read replicas. Default: none. */
  further(): readonly HealthCheck[] {
    return [];
  }

  /**
   * Returns true if all is well. It is not called again while a call is running.
   * @param signal is aborted at the time limit
   */
  abstract check(signal: AbortSignal): Promise<boolean>;
}

/**
 * Throws ImproperlyConfigured for a value that is not a check, and for a check without a name or a sensible time limit.
 */
export function validateHealthCheck(check: unknown): asserts check is HealthCheck {
  if (!(check instanceof HealthCheck)) throw wrongOption('HealthRegistry.register()', 'check', 'a HealthCheck', check);
  const owner = check.constructor.name;
  const { name, timeoutMs, isEssential } = check as Record<keyof HealthCheckOptions, unknown>;
  if (typeof name !== 'string' || name === '') throw wrongOption(owner, 'name', 'a non-empty string', name);
  const isDuration = typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs < 2 ** 31;
  if (!isDuration) throw wrongOption(owner, 'timeoutMs', 'a number of milliseconds', timeoutMs);
  if (typeof isEssential !== 'boolean') throw wrongOption(owner, 'isEssential', 'true or false', isEssential);
}
