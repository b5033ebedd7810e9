import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MikroORM } from '@mikro-orm/core';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { type DatabaseName, EVERY_DATABASE, forEachDatabase } from '../../../packages/core/test/support/databases.ts';
import { buildApp } from '../src/app.ts';
import { Account, ENTITIES } from '../src/entities.ts';
import { seed } from '../src/seed.ts';

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Person = 'ada' | 'ben' | 'chiara' | 'dov';

/** A seeded tracker: ada owns lighthouse and writes in harbour, ben the other way round, chiara is a guest of lighthouse and owns compass, dov writes there. */
export interface Tracker {
  readonly app: FastifyInstance;
  readonly orm: MikroORM;
  readonly uploads: string;
  readonly token: (person: Person) => string;
  /** Sends a request as one of the people. */
  readonly as: (
    person: Person,
    method: Method,
    url: string,
    payload?: object | Buffer,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<LightMyRequestResponse>;
}

/** Runs the tests against a seeded tracker on every database, or on those named. */
export function withTracker(
  tests: (t: Test, tracker: Tracker) => Promise<void>,
  only: readonly DatabaseName[] = EVERY_DATABASE,
): void {
  forEachDatabase(t, { entities: ENTITIES, only }, async (t, orm) => {
    const uploads = mkdtempSync(join(tmpdir(), 'tracker-'));
    t.teardown(() => rmSync(uploads, { recursive: true, force: true }));
    await seed(orm, { bcryptRounds: 4 });
    const app = await buildApp({ orm, uploads, secret: 'a secret of 32 bytes for the tests', bcryptRounds: 4 });
    t.teardown(() => app.close());
    await app.ready();
    const accounts = await orm.em.fork().find(Account, {}, { populate: ['role'] });
    const tokens = new Map(
      accounts.map((account) => [account.email.split('@')[0]!, app.auth.issueToken(account as never)]),
    );
    await tests(t, {
      app,
      orm,
      uploads,
      token: (person) => tokens.get(person)!,
      as: (person, method, url, payload, headers = {}) =>
        app.inject({
          method,
          url,
          headers: { authorization: `Bearer ${tokens.get(person)!}`, ...headers },
          ...(payload !== undefined && { payload }),
        }),
    });
  });
}
