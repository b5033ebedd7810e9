import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { HealthCheck, type HealthCheckOptions } from '../../src/health/health-check.ts';
import { HealthRegistry } from '../../src/health/health-registry.ts';

type Check = (signal: AbortSignal) => Promise<boolean>;

class CallbackCheck extends HealthCheck {
  calls = 0;
  readonly #check: Check;

  constructor(name: string, check: Check, options: HealthCheckOptions = {}) {
    super({ name, ...options });
    this.#check = check;
  }

  override async check(signal: AbortSignal): Promise<boolean> {
    this.calls++;
    return this.#check(signal);
  }
}

const hang: Check = async () => new Promise(() => {});
const well: Check = async () => true;

function registryOf(...checks: HealthCheck[]): HealthRegistry {
  const registry = new HealthRegistry({ cacheMs: 0 });
  for (const check of checks) registry.register(check);
  return registry;
}

t.test('without checks all is well', async (t) => {
  t.same(await new HealthRegistry().run(), { status: 'ok', checks: {} });
});

t.test('checks run concurrently, and the report contains the duration of each', async (t) => {
  const begun = Promise.withResolvers<true>();
  const first: Check = () => begun.promise;
  const second: Check = async () => {
    await sleep(100);
    begun.resolve(true);
    return true;
  };
  const { status, checks } = await registryOf(
    new CallbackCheck('a', first),
    new CallbackCheck('b', second),
    new CallbackCheck('c', well),
  ).run();
  t.equal(status, 'ok', 'the first could not end before the second had begun');
  t.same(Object.keys(checks), ['a', 'b', 'c']);
  t.ok(checks['a']!.duration_ms >= 95);
  t.match(String(checks['a']!.duration_ms), /^\d+(\.\d)?$/);
});

t.test('any failure of a check makes only that check unavailable', async (t) => {
  const checks: Record<string, Check> = {
    no: async () => false,
    nothing: async () => undefined as unknown as boolean,
    truthy: async () => 'ok' as unknown as boolean,
    rejects: async () => Promise.reject(new Error('secret-host:5432')),
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what a careless check does
    rejectsNothing: async () => Promise.reject(undefined),
    throws: () => {
      throw new Error('at once');
    },
    hangs: hang,
  };
  const registry = registryOf(
    ...Object.entries(checks).map(([name, check]) => new CallbackCheck(name, check, { timeoutMs: 100 })),
  );
  registry.register(new CallbackCheck('well', well));
  const report = await registry.run();
  t.equal(report.status, 'unavailable');
  for (const name of Object.keys(checks)) t.equal(report.checks[name]?.status, 'unavailable', name);
  t.equal(report.checks['well']?.status, 'ok');
  t.notMatch(JSON.stringify(report), /secret/);
});

t.test('a check that fails after its timeout is ignored', async (t) => {
  const late: Check = async () => {
    await sleep(50);
    throw new Error('late');
  };
  t.match(await registryOf(new CallbackCheck('late', late, { timeoutMs: 10 })).run(), { status: 'unavailable' });
  await sleep(80);
  t.pass('no unhandled rejection');
});

t.test('the signal of a check is aborted at its timeout', async (t) => {
  const aborted = Promise.withResolvers<unknown>();
  const check: Check = async (signal) => {
    signal.addEventListener('abort', () => aborted.resolve((signal.reason as Error).message));
    return hang(signal);
  };
  await registryOf(new CallbackCheck('slow', check, { timeoutMs: 20 })).run();
  t.equal(await aborted.promise, 'Health check "slow" did not answer within 20 ms');
});

t.test('a call that hangs is not repeated while it runs, and is abandoned in the end', async (t) => {
  const check = new CallbackCheck('hangs', hang, { timeoutMs: 60 });
  const registry = registryOf(check);
  for (let i = 0; i < 3; i++) t.equal((await registry.run()).status, 'unavailable');
  t.equal(check.calls, 1);
  await sleep(130);
  await registry.run();
  t.equal(check.calls, 2);
});

t.test('concurrent requests share one run, and so do requests shortly after it', async (t) => {
  const check = new CallbackCheck('slow', async () => sleep(20, true));
  const registry = new HealthRegistry({ cacheMs: 300 });
  registry.register(check);
  const reports = await Promise.all(Array.from({ length: 50 }, async () => registry.run()));
  t.equal(new Set(reports.map((report) => JSON.stringify(report))).size, 1);
  await registry.run();
  t.equal(check.calls, 1);
  await sleep(310);
  await registry.run();
  t.equal(check.calls, 2);
});

t.test('a result is not reused longer because another check is slow', async (t) => {
  const quick = new CallbackCheck('quick', async () => true);
  const slow = new CallbackCheck('slow', async () => sleep(300, true));
  const registry = new HealthRegistry({ cacheMs: 200 });
  registry.register(quick).register(slow);
  await registry.run();
  await registry.run();
  t.equal(quick.calls, 2, 'what it said is 300 ms old');
  t.equal(slow.calls, 1);
});

t.test('only changes of the status are logged', async (t) => {
  const lines: unknown[] = [];
  const log = {
    warn: (...line: unknown[]) => void lines.push(['warn', ...line]),
    info: (...line: unknown[]) => void lines.push(['info', ...line]),
  };
  let isUp = true;
  const registry = registryOf(new CallbackCheck('store', async () => isUp || Promise.reject(new Error('refused'))));
  await registry.run(log);
  isUp = false;
  await registry.run(log);
  await registry.run(log);
  isUp = true;
  await registry.run(log);
  t.match(lines, [
    ['warn', { check: 'store', err: { message: 'refused' } }, 'A health check is unavailable'],
    ['info', { check: 'store' }, 'A health check is well again'],
  ]);
  t.equal(lines.length, 2);
});

t.test('readiness runs the essential checks, and fails after shutdown begins', async (t) => {
  const registry = registryOf(
    new CallbackCheck('database', well),
    new CallbackCheck('cache', hang, { timeoutMs: 10, isEssential: false }),
  );
  t.match(await registry.run(), { status: 'unavailable' });
  const { status, checks } = await registry.readiness();
  t.equal(status, 'ok');
  t.same(Object.keys(checks), ['database']);
  registry.beginShutdown();
  t.same(await registry.readiness(), { status: 'unavailable', checks: {} });
});

t.test('a check needs no constructor', async (t) => {
  class PlainHealthCheck extends HealthCheck {
    override readonly name = 'plain';
    override readonly timeoutMs = 50;
    override async check(): Promise<boolean> {
      return true;
    }
  }
  t.match(await registryOf(new PlainHealthCheck()).run(), { status: 'ok', checks: { plain: { status: 'ok' } } });
});

t.test('mistakes are refused', async (t) => {
  const refused = (run: () => unknown, message: RegExp): unknown =>
    t.throws(run, { name: 'ImproperlyConfigured', message });
  refused(
    () => registryOf(new CallbackCheck('a', well), new CallbackCheck('a', well)),
    /a check named "a" is registered already/,
  );
  refused(() => registryOf({ name: 'a', check: well } as never), /"check" must be a HealthCheck/);
  refused(() => registryOf(new CallbackCheck('', well)), /CallbackCheck: option "name" must be a non-empty string/);
  for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31]) {
    refused(() => registryOf(new CallbackCheck('a', well, { timeoutMs })), /"timeoutMs"/);
  }
  refused(() => new CallbackCheck('a', well, { timeout: 5 } as object), /did you mean "timeoutMs"/);
  refused(
    () => registryOf(new CallbackCheck('a', well, { isEssential: 'no' as never })),
    /"isEssential" must be true or false/,
  );
  refused(() => new HealthRegistry({ cacheMs: -1 }), /"cacheMs"/);
  refused(() => new HealthRegistry({ cache: 1 } as object), /unknown option "cache"/);
});
