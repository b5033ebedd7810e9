import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testApp } from '@viewset/testing';
import { Account } from './accounts.ts';
import { createApp } from './app.ts';
import { database } from './database.ts';
import { entities } from './entities.ts';

const secret = 'a secret of thirty-two bytes for tests';

test('books can be created, found and changed', async (t) => {
  const library = await testApp((orm) => createApp(orm, secret), { entities, database });
  t.after(() => library.close());
  const { app } = library;
  app.log.level = 'warn'; // no line for each request
  const url = '/api/books';
  const payload = { title: 'Emma', pages: 474 };
  let headers = {};
  // if accounts
  assert.equal((await app.inject({ method: 'POST', url, payload })).statusCode, 401);
  headers = library.headersOf(await library.factory(Account).create());
  // end

  const created = await app.inject({ method: 'POST', url, payload, headers });
  assert.equal(created.statusCode, 201);
  const { id } = created.json<{ id: number }>();
  assert.deepEqual(created.json(), { id, ...payload });

  const found = await app.inject({ method: 'GET', url: `${url}?search=emma` });
  assert.deepEqual(found.json<{ results: unknown }>().results, [{ id, ...payload }]);

  const changed = await app.inject({ method: 'PATCH', url: `${url}/${id}`, payload: { pages: 475 }, headers });
  assert.deepEqual(changed.json(), { id, ...payload, pages: 475 });

  const wrong = await app.inject({ method: 'POST', url, payload: { pages: 0 }, headers });
  assert.equal(wrong.statusCode, 400);
});
