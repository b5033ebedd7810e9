import type { MikroORM } from '@mikro-orm/core';
import type { Client } from '@viewset/client';
import { missingServer, TEST_DATABASES, testApp, type TestDatabase } from '@viewset/testing';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { type AppOptions, buildApp } from '../src/app.ts';
import { Account, ENTITIES } from '../src/entities.ts';
import type { Api } from '../src/router.ts';
import { seed } from '../src/seed.ts';

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Person = 'ada' | 'ben' | 'chiara' | 'dov';

/** A seeded tracker: ada owns lighthouse and writes in harbour, ben the other way round, chiara is a guest of lighthouse and owns compass, dov writes there. */
export interface Tracker {
  readonly app: FastifyInstance;
  readonly orm: MikroORM;
  readonly uploads: string;
  readonly token: (person: Person) => string;
  /** The API, called by one of the people. */
  readonly as: (person: Person) => Client<Api>;
  /** Sends a request as one of the people. */
  readonly send: (
    person: Person,
    method: Method,
    url: string,
    payload?: object | Buffer,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<LightMyRequestResponse>;
}

/** The tracker on an ORM, which keeps attachments in a folder. */
export const buildTracker = (orm: MikroORM, uploads: string, options: Pick<AppOptions, 'lists'> = {}) =>
  buildApp({ orm, uploads, secret: 'a secret of 32 bytes for the tests', bcryptRounds: 4, ...options });

/** Runs the tests against a seeded tracker on every database, or on those named. */
export function withTracker(
  tests: (t: Test, tracker: Tracker) => Promise<void>,
  databases: readonly TestDatabase[] = TEST_DATABASES,
  options: Pick<AppOptions, 'lists'> = {},
  suite: Test = t,
): void {
  for (const database of databases) {
    suite.test(`on ${database}`, { skip: missingServer(database) }, async (t) => {
      const uploads = t.testdir();
      const tracker = await testApp((orm) => buildTracker(orm, uploads, options), { entities: ENTITIES, database });
      t.teardown(() => tracker.close());
      const { app, orm } = tracker;
      await seed(orm, { bcryptRounds: 4 });
      const accounts = await orm.em.fork().find(Account, {}, { populate: ['role'] });
      const account = (person: Person) => accounts.find(({ email }) => email.startsWith(person))!;
      await tests(t, {
        app,
        orm,
        uploads,
        token: (person) => app.auth.issueToken(account(person)),
        as: (person) => tracker.as<Api>(account(person)),
        send: (person, method, url, payload, headers = {}) =>
          tracker.inject(account(person), { method, url, headers, ...(payload && { payload }) }),
      });
    });
  }
}
