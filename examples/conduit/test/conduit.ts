import type { MikroORM } from '@mikro-orm/core';
import { missingServer, TEST_DATABASES, testApp, type TestApp, type TestDatabase } from '@viewset/testing';
import type { LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { buildApp } from '../src/app.ts';
import { ENTITIES } from '../src/entities.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** An empty Conduit. */
export interface Conduit extends Pick<TestApp, 'app' | 'orm'> {
  readonly database: TestDatabase;
  /** Sends a request below `/api` with the token of a user. */
  readonly send: (method: Method, path: string, body?: object, token?: string) => Promise<LightMyRequestResponse>;
  /** Registers somebody and returns the token. */
  readonly register: (username: string) => Promise<string>;
}

const build = (orm: MikroORM) => buildApp({ orm, secret: 'a secret of 32 bytes for the tests', bcryptRounds: 4 });

/** Runs the tests against an empty Conduit on every database, or on those named. */
export function withConduit(
  tests: (t: Test, conduit: Conduit) => Promise<void>,
  databases: readonly TestDatabase[] = TEST_DATABASES,
): void {
  for (const database of databases) {
    t.test(`on ${database}`, { skip: missingServer(database) }, async (t) => {
      const conduit = await testApp(build, { entities: ENTITIES, database });
      t.teardown(() => conduit.close());
      const { app, orm } = conduit;
      const send: Conduit['send'] = (method, path, payload, token) =>
        app.inject({
          method,
          url: `/api${path}`,
          headers: token === undefined ? {} : { authorization: `Token ${token}` },
          ...(payload && { payload }),
        });
      const register = async (username: string) => {
        const user = { username, email: `${username}@example.com`, password: `${username}-password` };
        const answer = await send('POST', '/users', { user });
        t.equal(answer.statusCode, 201, `register ${username}`);
        return answer.json<{ user: { token: string } }>().user.token;
      };
      await tests(t, { app, orm, database, send, register });
    });
  }
}
