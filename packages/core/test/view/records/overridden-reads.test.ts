/** An override of `retrieve` or `list` is asked by whatever shows a record, or a list, in the place of its GET. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import t from 'tap';
import {
  action,
  type FileStore,
  FileType,
  file,
  Forbidden,
  getCurrentUser,
  ModelViewSet,
  NotFound,
  Permission,
  type PermissionView,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Person = defineEntity({
  name: 'Person',
  properties: { id: p.integer().primary(), name: p.string().length(20), passport: p.type(FileType).nullable() },
});
const Letter = defineEntity({
  name: 'Letter',
  properties: { id: p.integer().primary(), text: p.string().length(20), person: () => p.manyToOne(Person) },
});
type PersonRecord = InferEntity<typeof Person>;

const store: FileStore = {
  put: async () => {},
  get: async () => Readable.from([Buffer.from('PASSPORT')]),
  delete: async () => {},
};
const PASSPORT = { key: 'abc', name: 'passport.txt', size: 8, type: 'text/plain' };
const write = writeShape(Person, ['name'], { passport: file({ store, maxBytes: 100, types: ['text/plain'] }) });
const bare = readShape(Person, ['id', 'name']);
const whole = readShape(Person, ['id', 'name', 'passport']);
const isStaff = (request: FastifyRequest): boolean => getCurrentUser(request) !== null;
const STAFF = { 'x-user': 'staff' };

forEachDatabase(t, { entities: [Person, Letter] }, async (t, orm) => {
  await orm.em.fork().insertMany(Person, [
    { id: 1, name: 'Ada', passport: PASSPORT },
    { id: 2, name: 'Bob', passport: PASSPORT },
  ]);
  const em = orm.em.fork();
  for (const [text, person] of [
    ['to Ada', 1],
    ['to Bob', 2],
  ] as const) {
    em.create(Letter, { text, person: em.getReference(Person, person) });
    await em.flush();
  }

  t.test(
    'a file that no read shape shows has no route, and a view that shows no records has no file routes',
    async (t) => {
      class CreatedViewSet extends ModelViewSet(Person, { read: bare, write, operations: ['create'] }) {}
      class ListedViewSet extends ModelViewSet(Person, { read: bare, write, operations: ['create', 'list'] }) {}
      class UnshownViewSet extends ModelViewSet(Person, { read: bare, write }) {}
      class CreateShapeViewSet extends ModelViewSet(Person, { read: { default: bare, create: bare }, write }) {}
      const router = new Router()
        .register('created', CreatedViewSet)
        .register('listed', ListedViewSet)
        .register('unshown', UnshownViewSet)
        .register('answered', CreateShapeViewSet);
      const app = await testApp(t, orm, [router]);
      for (const path of ['created', 'listed', 'unshown', 'answered']) {
        t.equal((await app.inject({ url: `/${path}/1/passport`, headers: STAFF })).statusCode, 404, path);
      }
      const operations = app.viewset.operations.map(({ path }) => path);
      t.notOk(
        operations.some((path) => path.endsWith('/passport')),
        'documents tell of none',
      );
    },
  );

  t.test('a file is returned only to users whose read shape contains it', async (t) => {
    class PersonViewSet extends ModelViewSet(Person, { read: { default: bare, staff: whole }, write }) {
      override readShapeFor(request: FastifyRequest) {
        return isStaff(request) ? 'staff' : undefined;
      }
    }
    class RenamedViewSet extends ModelViewSet(Person, {
      read: { default: bare, list: readShape(Person, ['id'], { document: 'passport' }) },
      write,
    }) {}
    const app = await testApp(t, orm, [
      new Router().register('persons', PersonViewSet).register('renamed', RenamedViewSet),
    ]);
    t.equal((await app.inject('/persons/1/passport')).statusCode, 404);
    const shown = await app.inject({ url: '/persons/1/passport', headers: STAFF });
    t.equal(shown.statusCode, 200);
    t.equal(shown.body, 'PASSPORT');
    const { results } = (await app.inject('/renamed')).json<{ results: { document: { url: string } }[] }>();
    t.equal((await app.inject(results[0]!.document.url)).statusCode, 200, 'a link of a list leads to its file');
    const asked = async (headers: Record<string, string>) =>
      (await app.inject({ method: 'OPTIONS', url: '/persons/1/passport', headers })).headers['permitted-methods'];
    t.equal(await asked({}), 'OPTIONS');
    t.equal(await asked(STAFF), 'GET, HEAD, OPTIONS');
  });

  t.test('a file is returned only to users who may retrieve the record', async (t) => {
    class StaffRetrieves extends Permission {
      override hasPermission(request: FastifyRequest, view: PermissionView) {
        return view.getAction(request) !== 'retrieve' || isStaff(request);
      }
    }
    class AdaRetrieved extends Permission {
      override scope(request: FastifyRequest, view: PermissionView) {
        const name = view.getAction(request) === 'retrieve' && !isStaff(request) ? ['Ada'] : ['Ada', 'Bob'];
        return this.records<PersonRecord>(view, { name__in: name });
      }
    }
    class BobIsObject extends Permission {
      override hasObjectPermission(request: FastifyRequest, view: PermissionView, person: object) {
        return (person as PersonRecord).name === 'Ada' || view.getAction(request) !== 'retrieve' || isStaff(request);
      }
    }
    const options = { read: whole, write };
    class RetrievedViewSet extends ModelViewSet(Person, { ...options, permissionClasses: [StaffRetrieves] }) {}
    class ScopedViewSet extends ModelViewSet(Person, { ...options, permissionClasses: [AdaRetrieved] }) {}
    class ObjectViewSet extends ModelViewSet(Person, { ...options, permissionClasses: [BobIsObject] }) {}
    class HookedViewSet extends ModelViewSet(Person, options) {
      override getQueryset(request: FastifyRequest) {
        const isHidden = this.getAction(request) === 'retrieve' && !isStaff(request);
        return isHidden ? super.getQueryset(request).filter({ name: 'Ada' }) : super.getQueryset(request);
      }
    }
    const router = new Router()
      .register('retrieved', RetrievedViewSet)
      .register('scoped', ScopedViewSet)
      .register('object', ObjectViewSet)
      .register('hooked', HookedViewSet);
    const app = await testApp(t, orm, [router]);
    for (const name of ['retrieved', 'scoped', 'object', 'hooked']) {
      for (const headers of [{}, STAFF]) {
        for (const pk of [1, 2]) {
          const record = await app.inject({ url: `/${name}/${pk}`, headers });
          const sent = await app.inject({ url: `/${name}/${pk}/passport`, headers });
          t.equal(sent.statusCode, record.statusCode, `${name} ${pk}`);
          const asked = await app.inject({ method: 'OPTIONS', url: `/${name}/${pk}/passport`, headers });
          const methods = record.statusCode === 200 ? 'GET, HEAD, OPTIONS' : 'OPTIONS';
          t.equal(asked.headers['permitted-methods'], methods, `OPTIONS ${name} ${pk}`);
        }
      }
    }
  });

  const refusing = (refuse: () => Error) => {
    class PersonViewSet extends ModelViewSet(Person, { read: whole, write }) {
      override async retrieve(request: FastifyRequest, reply: FastifyReply) {
        const record = await super.retrieve(request, reply);
        void reply.header('x-retrieved', 'yes');
        if (record.name === 'Bob' && !isStaff(request)) throw refuse();
        return record;
      }
      greet = action({ detail: true }, async () => ({ hello: true }));
    }
    class LetterViewSet extends ModelViewSet(Letter, {
      read: readShape(Letter, ['id', 'text']),
      write: writeShape(Letter, ['text']),
    }) {}
    return new Router().register('persons', PersonViewSet).register('persons/:person/letters', LetterViewSet);
  };

  for (const refuse of [() => new Forbidden(), () => new NotFound()]) {
    t.test(`an override of retrieve that throws ${refuse().name} hides the routes below the record`, async (t) => {
      const app = await testApp(t, orm, [refusing(refuse)]);
      const status = async (method: 'GET' | 'POST' | 'PATCH', url: string, headers = {}, payload?: object) =>
        (await app.inject({ method, url, headers, ...(payload && { payload }) })).statusCode;
      t.equal(await status('GET', '/persons/1/passport'), 200);
      t.equal(await status('GET', '/persons/2/passport'), refuse() instanceof NotFound ? 404 : 403);
      t.equal(await status('GET', '/persons/2/passport', STAFF), 200);
      t.equal(await status('GET', '/persons/1/letters'), 200);
      t.equal(await status('GET', '/persons/2/letters'), 404);
      t.equal(await status('GET', '/persons/2/letters', STAFF), 200);
      t.equal(await status('GET', '/persons/2/letters/2'), 404);
      t.equal(await status('PATCH', '/persons/2/letters/2', {}, {}), 404);
      t.equal(await status('POST', '/persons/2/letters', {}, { text: 'new' }), 404);
      t.equal(await status('POST', '/persons/1/letters', {}, { text: 'new' }), 201);
      t.equal(await orm.em.fork().count(Letter, { person: 2 }), 1);
      await orm.em.fork().nativeDelete(Letter, { text: 'new' });
      const list = await app.inject('/persons/1/letters');
      t.equal(list.headers['x-retrieved'], undefined, 'the client hears nothing of the question');
      const permitted = async (url: string, headers = {}) =>
        (await app.inject({ method: 'OPTIONS', url, headers })).headers['permitted-operations'];
      t.notMatch(await permitted('/persons/2'), /retrievePerson|Letter|passport/);
      t.match(await permitted('/persons/2', STAFF), /retrievePerson.*listPersonLetters/);
      t.match(await permitted('/persons/1'), /retrievePerson/);
      t.equal(await permitted('/persons/2/letters'), '');
    });
  }

  t.test('an override that leaves the file out, or represents the record without it, keeps it', async (t) => {
    class WithoutViewSet extends ModelViewSet(Person, { read: whole, write }) {
      override async retrieve(request: FastifyRequest, reply: FastifyReply) {
        const record = await super.retrieve(request, reply);
        return isStaff(request) ? record : { ...record, passport: null };
      }
    }
    class RepresentedViewSet extends ModelViewSet(Person, { read: whole, write }) {
      override represent(person: PersonRecord, request?: FastifyRequest) {
        const record = super.represent(person, request);
        return record.name === 'Bob' ? { ...record, passport: null } : record;
      }
    }
    const app = await testApp(t, orm, [
      new Router().register('without', WithoutViewSet),
      new Router().register('represented', RepresentedViewSet),
    ]);
    t.equal((await app.inject('/without/1/passport')).statusCode, 404);
    t.equal((await app.inject({ url: '/without/1/passport', headers: STAFF })).statusCode, 200);
    t.equal((await app.inject('/represented/1/passport')).statusCode, 200);
    t.equal((await app.inject('/represented/2/passport')).statusCode, 404);
  });

  t.test('OPTIONS calls an override of list', async (t) => {
    class PersonViewSet extends ModelViewSet(Person, { read: bare }) {
      override async list(request: FastifyRequest, reply: FastifyReply) {
        if (!isStaff(request)) throw new Forbidden();
        return super.list(request, reply);
      }
    }
    const app = await testApp(t, orm, [new Router({ prefix: 'api' }).register('persons', PersonViewSet)]);
    const permitted = async (url: string, headers = {}) =>
      (await app.inject({ method: 'OPTIONS', url, headers })).headers['permitted-operations'];
    t.equal(await permitted('/api/persons'), '');
    t.match(await permitted('/api/persons', STAFF), 'listPersons');
    t.notMatch(await permitted('/api'), 'listPersons');
    t.match(await permitted('/api', STAFF), 'listPersons');
  });

  t.test(
    'a view with an overridden retrieve cannot be a reference view, because it cannot check many records at once',
    async (t) => {
      class PersonViewSet extends ModelViewSet(Person, { read: bare }) {
        override async retrieve(request: FastifyRequest, reply: FastifyReply) {
          return super.retrieve(request, reply);
        }
      }
      class LetterViewSet extends ModelViewSet(Letter, {
        read: readShape(Letter, ['id']),
        write: writeShape(Letter, ['text', 'person']),
        referenceViews: { person: PersonViewSet },
      }) {}
      await t.rejects(
        testApp(t, orm, [new Router().register('persons', PersonViewSet).register('letters', LetterViewSet)]),
        {
          message:
            /PersonViewSet for "person", which overrides retrieve, where it is asked for one record; override getQueryset/,
        },
      );
    },
  );
});
