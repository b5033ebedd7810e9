/** The entry of a server that a test bundles and minifies: a list of notes on SQLite, PostgreSQL or MongoDB, called once and closed. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { MikroORM as PostgreSqlORM } from '@mikro-orm/postgresql';
import { MikroORM as SqliteORM } from '@mikro-orm/sqlite';
import { ModelViewSet, Permission, readShape, Router, scoped, serverOptions, viewset, writeShape } from '@viewset/core';
import { MongoExtension } from '@viewset/mongodb';
import { fastify } from 'fastify';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.string() },
});

class Everyone extends Permission {
  override hasPermission(): boolean {
    return true;
  }
}

const Shown = scoped(Note, () => ({ text__contains: 'o' }));

class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'text']),
  write: writeShape(Note, ['text']),
  permissionClasses: [Everyone, Shown],
}) {}

const url = process.env['MINIFIED_DATABASE_URL'];
const entities = [Note];
const orm = (url === undefined
  ? await SqliteORM.init({ dbName: ':memory:', entities })
  : url.startsWith('mongodb')
    ? await MongoORM.init({ clientUrl: url, entities, extensions: [MongoExtension] })
    : await PostgreSqlORM.init({ clientUrl: url, entities })) as unknown as MikroORM;
await orm.schema.create();
const router = new Router().register('notes', NoteViewSet);
const app = fastify(serverOptions());
await app.register(viewset, { orm });
await app.register(router.plugin);
const answers: unknown[] = [];
const ask = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object): Promise<void> => {
  const answer = await app.inject({ method, url: path, ...(payload === undefined ? {} : { payload }) });
  answers.push([answer.statusCode, answer.body === '' ? undefined : answer.json<unknown>()]);
};
await ask('POST', '/notes', { text: 'one' });
await ask('POST', '/notes', { text: 'four' });
await ask('PATCH', '/notes/1', { text: 'two' });
await ask('GET', '/notes');
await ask('DELETE', '/notes/1');
await ask('GET', '/notes/1');
await app.close();
await orm.close();
process.stdout.write(JSON.stringify(answers));
