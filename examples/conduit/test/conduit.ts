import type { MikroORM } from '@mikro-orm/core';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import t, { type Test } from 'tap';
import { type DatabaseName, EVERY_DATABASE, forEachDatabase } from '../../../packages/core/test/support/databases.ts';
import { buildApp } from '../src/app.ts';
import { ENTITIES } from '../src/entities.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** An empty Conduit. */
export interface Conduit {
  readonly app: FastifyInstance;
  readonly orm: MikroORM;
  readonly database: DatabaseName;
  /** Sends a request below `/api`, as whoever has the token. */
  readonly send: (method: Method, path: string, body?: object, token?: string) => Promise<LightMyRequestResponse>;
  /** Registers somebody and returns the token. */
  readonly register: (username: string) => Promise<string>;
}

/** Runs the tests against an empty Conduit on every database, or on those named. */
export function withConduit(
  tests: (t: Test, conduit: Conduit) => Promise<void>,
  only: readonly DatabaseName[] = EVERY_DATABASE,
): void {
  forEachDatabase(t, { entities: ENTITIES, only }, async (t, orm, database) => {
    const app = await buildApp({ orm, secret: 'a secret of 32 bytes for the tests', bcryptRounds: 4 });
    t.teardown(() => app.close());
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
