import { MikroORM } from '@mikro-orm/mongodb';
import type { Test } from 'tap';
import { type MongoOptions, startMongo, type TestServer } from '../../../../scripts/servers.ts';
import { MongoExtension } from '../../../mongodb/src/index.ts';
import type { DatabaseOptions } from './databases.ts';

type AdminDatabase = ReturnType<ReturnType<MikroORM['em']['getConnection']>['getDb']>;

/** A MongoDB of a test's own, that it may disturb. */
export interface RunningMongo {
  readonly server: TestServer;
  /** A MikroORM on an empty database, whose collections and indexes are there. */
  open(options: DatabaseOptions): Promise<MikroORM>;
  /**
   * Has the server fail the next commands of some names, each time in the same way. Takes what the failpoint `failCommand` takes:
   * https://github.com/mongodb/mongo/wiki/The-%22failCommand%22-fail-point
   */
  fail(commands: readonly string[], times: number, how: object): Promise<void>;
  /** Sets a failpoint: https://github.com/mongodb/mongo/wiki/Fail-Points */
  configure(failPoint: string, mode: 'alwaysOn' | 'off' | { readonly times: number }, data?: object): Promise<void>;
  /** Runs work on the server's database `admin`. */
  inAdmin<Result>(work: (admin: AdminDatabase) => Promise<Result>): Promise<Result>;
  /** The commands that the server runs, as text. */
  running(): Promise<string[]>;
}

/** Runs a test on a MongoDB of its own. Skipped, aloud, if there is none; under CI it fails. */
export function withMongoServer(
  t: Test,
  name: string,
  options: MongoOptions,
  body: (t: Test, mongo: RunningMongo) => Promise<void>,
): void {
  t.test(name, async (t) => {
    // Without the other servers nothing is installed or started: `pnpm test` is for everybody who has just cloned the repository.
    const isWanted = process.env['TEST_MONGODB_URL'] !== undefined || process.env['CI'] === 'true';
    const server = isWanted ? await startMongo(options) : undefined;
    if (server === undefined) {
      const problem = 'MongoDB is NOT TESTED with a server of its own: run `pnpm with-servers pnpm test`';
      if (process.env['CI'] === 'true') throw new Error(problem);
      return void t.test(name, { skip: problem }, async () => {});
    }
    t.teardown(() => server.stop());
    let databases = 0;
    await body(t, {
      server,
      async open({ entities, orm: further }) {
        const clientUrl = new URL(server.url);
        databases += 1;
        clientUrl.pathname = `/test_${databases}`;
        const orm = await MikroORM.init({
          ...further,
          clientUrl: clientUrl.href,
          extensions: [MongoExtension],
          entities: [...entities],
        } as object);
        t.teardown(() => orm.close(true));
        await orm.schema.create();
        return orm;
      },
      fail: (commands, times, how) => configure('failCommand', { times }, { failCommands: commands, ...how }),
      configure,
      inAdmin,
      running: () =>
        inAdmin(async (admin) => {
          const commands = await admin.aggregate([{ $currentOp: {} }, { $match: { op: { $ne: 'none' } } }]).toArray();
          return commands.map(({ command }) => JSON.stringify(command));
        }),
    });

    function configure(failPoint: string, mode: unknown, data?: object): Promise<void> {
      return inAdmin(async (admin) => {
        await admin.command({ configureFailPoint: failPoint, mode, ...(data === undefined ? {} : { data }) });
      });
    }

    async function inAdmin<Result>(work: (admin: AdminDatabase) => Promise<Result>): Promise<Result> {
      const options = { entities: [], discovery: { warnWhenNoEntities: false } };
      const orm = await MikroORM.init({ clientUrl: server!.url, dbName: 'admin', ...options });
      try {
        return await work(orm.em.getConnection().getDb());
      } finally {
        await orm.close(true);
      }
    }
  });
}
