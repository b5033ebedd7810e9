/** An ORM on MongoDB without the extension stops the start, and the error says what to do. */
import { type MikroORM, defineEntity, p } from '@mikro-orm/core';
import { MikroORM as MongoORM } from '@mikro-orm/mongodb';
import { ImproperlyConfigured, serverOptions, toHttpError, viewset } from '@viewset/core';
import { fastify } from 'fastify';
import t from 'tap';
import { MongoExtension } from '../src/index.ts';

const Note = defineEntity({ name: 'Note', properties: { _id: p.integer().primary(), text: p.string() } });

/** Nobody listens there: the start needs no answer to refuse the ORM. */
const clientUrl = 'mongodb://127.0.0.1:1/notes?replicaSet=rs0&serverSelectionTimeoutMS=100';

for (const [name, extensions, problem] of [
  ['without', [], /extensions: \[MongoExtension\], of @viewset\/mongodb/],
  ['with', [MongoExtension], undefined],
] as const) {
  t.test(`an application that has no view, ${name} the extension`, async (t) => {
    const options = { clientUrl, entities: [Note], extensions: [...extensions] };
    const orm = (await MongoORM.init(options)) as unknown as MikroORM;
    t.teardown(() => orm.close(true));
    const app = fastify(serverOptions());
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    if (problem === undefined) await t.resolves(async () => app.ready());
    else await t.rejects(async () => app.ready(), { constructor: ImproperlyConfigured, message: problem });
  });
}

t.test(
  'MongoDB errors that do not pass through a backend are mapped too, as well as errors of other servers',
  async (t) => {
    t.equal(toHttpError(Object.assign(new Error('not primary'), { code: 10_107 })).statusCode, 503);
    t.equal(toHttpError(Object.assign(new Error('write conflict'), { code: 112 })).statusCode, 409);
    t.equal(toHttpError(Object.assign(new Error('terminating connection'), { code: '57P01' })).statusCode, 503);
    t.equal(toHttpError(Object.assign(new Error('bad value'), { code: 2 })).statusCode, 500);
  },
);
