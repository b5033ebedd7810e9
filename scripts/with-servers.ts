/**
 * `pnpm with-servers <command> [arguments]`: runs a command with PostgreSQL, PgBouncer, MongoDB, Redis and a server of the S3 protocol, and
 * stops them afterwards.
 *
 * A server whose URL is in the environment already is not started. A server that is not installed is an error, or, with `--optional` before
 * the command, a notice: the tests that need it are then skipped.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { startMongo, startPgBouncer, startPostgres, startRedis, startS3, type TestServer } from './servers.ts';

const optional = process.argv[2] === '--optional';
const [command, ...args] = process.argv.slice(optional ? 3 : 2);
if (command === undefined) throw new Error('Usage: pnpm with-servers [--optional] <command> [arguments]');

const servers: TestServer[] = [];
const environment: Record<string, string> = {};
try {
  await provide('TEST_POSTGRES_URL', 'PostgreSQL (Debian: postgresql)', startPostgres);
  const postgresUrl = environment['TEST_POSTGRES_URL'] ?? process.env['TEST_POSTGRES_URL'];
  if (postgresUrl) {
    await provide('TEST_PGBOUNCER_URL', 'PgBouncer (Debian: pgbouncer)', () => startPgBouncer(postgresUrl));
  }
  await provide('TEST_MONGODB_URL', 'MongoDB (6.0.5 for Linux on x86-64, of PyPI; it takes libcurl4)', startMongo);
  await provide('TEST_REDIS_URL', 'Redis (Debian: redis-server)', startRedis);
  await provide('TEST_S3_URL', "A server of S3's protocol (moto, of PyPI)", startS3);
  process.exitCode = await run(command, args);
} finally {
  // A server that another one depends on starts first.
  for (const server of servers.toReversed()) await server.stop();
}

async function provide(variable: string, what: string, start: () => Promise<TestServer | undefined>): Promise<void> {
  if (process.env[variable]) return;
  const server = await start();
  if (server === undefined) {
    const problem = `${what} is not installed, and ${variable} names no running one`;
    if (!optional) throw new Error(problem);
    console.error(`${problem}: the tests that need it will be skipped`);
    return;
  }
  servers.push(server);
  environment[variable] = server.url;
}

async function run(program: string, programArgs: readonly string[]): Promise<number> {
  const child = spawn(program, programArgs, { stdio: 'inherit', env: { ...process.env, ...environment } });
  // A terminal's Ctrl+C reaches the command by itself; either way the servers stop after it, not before.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => void (signal !== 'SIGINT' && child.kill(signal)));
  }
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
