import { MikroORM } from '@mikro-orm/postgresql';
import type { Test } from 'tap';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres, startPostgresReplica } from '../../../../scripts/servers.ts';
import { administrate, type DatabaseOptions } from './databases.ts';

/** A PostgreSQL of a test's own, and a replica of it. */
export interface ReplicatedPostgres {
  /** A MikroORM on both; its tables are there, and the replica has them. */
  open(options: DatabaseOptions): Promise<MikroORM>;
  /** Waits until the replica has all that was committed, and has it stay so: it lags from now on. */
  freeze(): Promise<void>;
  readonly replicaUrl: string;
}

/** Runs a test on a PostgreSQL with a replica. Skipped, aloud, if there is none; under CI it fails. */
export function withReplica(
  t: Test,
  name: string,
  body: (t: Test, servers: ReplicatedPostgres) => Promise<void>,
): void {
  t.test(name, async (t) => {
    const primary = await startPostgres('crash');
    if (primary === undefined) {
      const problem = 'PostgreSQL is not installed: nothing was tried with a replica';
      if (process.env['CI'] === 'true') throw new Error(problem);
      return void t.test(name, { skip: problem }, async () => {});
    }
    t.teardown(() => primary.stop());
    const replica = (await startPostgresReplica(primary.url))!;
    t.teardown(() => replica.stop());
    const follow = async (): Promise<void> => {
      const [{ at }] = (await ask(primary.url, 'select pg_current_wal_flush_lsn()::text as at')) as [{ at: string }];
      const seen = `select pg_last_wal_replay_lsn() >= '${at}' as seen`;
      while ((await ask(replica.url, seen))[0]['seen'] !== true) await sleep(20);
    };
    await body(t, {
      replicaUrl: replica.url,
      async open({ entities, orm: further }) {
        const orm = await MikroORM.init({
          ...further,
          clientUrl: primary.url,
          replicas: [{ clientUrl: replica.url }],
          entities: [...entities],
        } as object);
        t.teardown(() => orm.close(true));
        await orm.schema.update();
        return orm;
      },
      async freeze() {
        await administrate(replica.url, 'select pg_wal_replay_resume()');
        await follow();
        await administrate(replica.url, 'select pg_wal_replay_pause()');
      },
    });
  });
}

async function ask(clientUrl: string, sql: string): Promise<[Record<string, unknown>]> {
  const orm = await MikroORM.init({ clientUrl, entities: [], discovery: { warnWhenNoEntities: false } });
  try {
    return await orm.em.getConnection().execute(sql);
  } finally {
    await orm.close(true);
  }
}
