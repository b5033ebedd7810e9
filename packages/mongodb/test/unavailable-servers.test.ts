/** A MongoDB that responds but cannot serve: no primary, starting, stopping, without disk, or closed to writes. */
import t from 'tap';
import {
  HealthRegistry,
  ModelViewSet,
  MongoHealthCheck,
  readShape,
  Router,
  type WriteData,
  writeShape,
} from '@viewset/core';
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { Book, fillLibrary, LIBRARY, testApp } from '../../core/test/support/library.ts';
import { withMongoServer } from '../../core/test/support/with-mongo-server.ts';

const shapes = { read: readShape(Book, ['id', 'title']), write: writeShape(Book, ['title']) };
class BookViewSet extends ModelViewSet(Book, shapes) {}
/** Writes through the unit of work. */
class HookedViewSet extends ModelViewSet(Book, shapes) {
  override performCreate(request: FastifyRequest, data: WriteData<InferEntity<typeof Book>, { title: string }>) {
    return super.performCreate(request, data);
  }
}

/** MongoDB's error codes, by name, and the status of the response. */
const CODES: readonly (readonly [string, number, number])[] = [
  ['HostUnreachable', 6, 503],
  ['HostNotFound', 7, 503],
  ['NetworkTimeout', 89, 503],
  ['ShutdownInProgress', 91, 503],
  ['NotYetInitialized', 94, 503],
  ['UnsatisfiableWriteConcern', 100, 503],
  ['FailedToSatisfyReadPreference', 133, 503],
  ['ReadConcernMajorityNotAvailableYet', 134, 503],
  ['PrimarySteppedDown', 189, 503],
  ['PooledConnectionAcquisitionExceededTimeLimit', 202, 503],
  ['TemporarilyUnavailable', 365, 503],
  ['UserWritesBlocked', 371, 503],
  ['LegacyNotPrimary', 10_058, 503],
  ['NotWritablePrimary', 10_107, 503],
  ['InterruptedAtShutdown', 11_600, 503],
  ['Interrupted', 11_601, 503],
  ['InterruptedDueToReplStateChange', 11_602, 503],
  ['NotPrimaryNoSecondaryOk', 13_435, 503],
  ['NotPrimaryOrSecondary', 13_436, 503],
  ['OutOfDiskSpace', 14_031, 503],
  ['Unauthorized', 13, 500],
  ['InternalError', 1, 500],
  ['AtlasError', 8000, 500],
];

withMongoServer(t, 'a server that cannot serve', { hasFailPoints: true }, async (t, mongo) => {
  // Without a time limit, the driver repeats a command once.
  const orm = await mongo.open({ entities: LIBRARY, orm: { driverOptions: { heartbeatFrequencyMS: 500 } } });
  const fail = (failCommands: string[], errorCode: number): Promise<void> =>
    mongo.configure('failCommand', 'alwaysOn', { failCommands, errorCode });
  await fillLibrary(orm);
  const health = new HealthRegistry({ cacheMs: 0 }).register(new MongoHealthCheck(orm));
  const reading = new HealthRegistry({ cacheMs: 0 }).register(new MongoHealthCheck(orm, { needsWrites: false }));
  const router = new Router().register('books', BookViewSet).register('hooked', HookedViewSet);
  const app = await testApp(t, orm, [router], { options: { health } });
  const create = async (url: string) => app.inject({ method: 'POST', url, payload: { title: 'Ash' } });
  const isReady = async () => (await app.inject('/health/ready')).statusCode;

  await t.test('every error code has its status', async (t) => {
    for (const [name, errorCode, status] of CODES) {
      await fail(['insert'], errorCode);
      t.equal((await create('/books')).statusCode, status, `${name} POST`);
      await fail(['find', 'aggregate'], errorCode);
      t.equal((await app.inject('/books')).statusCode, status, `${name} GET`);
      await mongo.configure('failCommand', 'off');
    }
    t.equal((await create('/books')).statusCode, 201);
  });

  await t.test('a server that is closed to writes', async (t) => {
    await mongo.inAdmin((admin) => admin.command({ setUserWriteBlockMode: 1, global: true }));
    for (const url of ['/books', '/hooked']) {
      const refused = await create(url);
      t.match({ status: refused.statusCode, ...refused.json() }, { status: 503, code: 'service_unavailable' }, url);
    }
    t.equal((await app.inject('/books')).statusCode, 200);
    await mongo.inAdmin((admin) => admin.command({ setUserWriteBlockMode: 1, global: false }));
    for (const url of ['/books', '/hooked']) t.equal((await create(url)).statusCode, 201, url);
  });

  await t.test('a server that writes nothing for now', async (t) => {
    t.equal(await isReady(), 200);
    await mongo.inAdmin((admin) => admin.command({ fsync: 1, lock: true }));
    t.equal(await isReady(), 503);
    t.equal((await reading.readiness()).status, 'ok', 'an application that only reads is ready');
    await mongo.inAdmin((admin) => admin.command({ fsyncUnlock: 1 }));
    while ((await isReady()) !== 200);
    t.equal((await create('/books')).statusCode, 201);
  });
});
