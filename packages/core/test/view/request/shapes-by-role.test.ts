/** Write shapes by user: what a request sends of another shape than its own is sent in vain. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  file,
  type FileStore,
  FileType,
  type InputOf,
  ModelViewSet,
  nested,
  readShape,
  Router,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { Book, errorAtStart, fillLibrary, LIBRARY, testApp } from '../../support/library.ts';

const Ticket = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    title: p.string(),
    price: p.integer().default(1),
    status: p.string().default('open'),
    screen: p.type(FileType).nullable(),
    notes: () => p.oneToMany(Note).mappedBy('ticket').orphanRemoval(),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    isSecret: p.boolean().default(false),
    ticket: () => p.manyToOne(Ticket),
  },
});
type TicketRecord = InferEntity<typeof Ticket>;

const stored: string[] = [];
const store: FileStore = {
  put: async (key, content) => {
    await content.toArray();
    stored.push(key);
  },
  get: async () => {
    throw new Error('nobody reads it');
  },
  delete: async () => undefined,
};

const read = readShape(Ticket, ['id', 'title', 'price', 'status']);
const brief = writeShape(Ticket, ['title']);
const whole = writeShape(Ticket, ['title', 'price', 'status']);
const write = { default: brief, staff: whole, editor: writeShape(Ticket, ['status']) };

const nameOf = ({ user }: FastifyRequest): string => (user as { role?: { name: string } } | null)?.role?.name ?? '';
const roleOf = (request: FastifyRequest) =>
  nameOf(request) === '' ? undefined : (nameOf(request) as 'staff' | 'editor');

class TicketViewSet extends ModelViewSet(Ticket, { read, write, bulk: 3 }) {
  override writeShapeFor(request: FastifyRequest) {
    return roleOf(request);
  }
  double = action({ detail: true, methods: ['post'], body: Type.Object({ by: Type.Integer() }) }, async (request) => {
    const ticket = await this.getObject(request);
    const { by } = request.body;
    return this.represent(await this.performUpdate(request, ticket, { price: ticket.price * by }));
  });
}
/** Hooks, rules and further input that go by the shape too. */
const hooked = { create: brief, update: writeShape(Ticket, ['price']), staff: whole };
class HookedViewSet extends ModelViewSet(Ticket, {
  read,
  write: hooked,
  extra: Type.Object({ why: Type.Optional(Type.String()) }),
  validate: ({ price, title }, problems, _request, _record, after) => {
    if (price === 13) problems.add('/price', 'is unlucky');
    if (title === 'after') problems.add('/title', Object.keys(after).toSorted().join());
  },
}) {
  override writeShapeFor(request: FastifyRequest, operation: 'create' | 'update') {
    return roleOf(request) === 'staff' && operation === 'create' ? 'staff' : undefined;
  }
  override performCreate(request: FastifyRequest, data: WriteData<TicketRecord, InputOf<typeof hooked>>) {
    return super.performCreate(request, { ...data, status: 'price' in data ? 'priced' : 'free' });
  }
}
class NestedViewSet extends ModelViewSet(Ticket, {
  read,
  write: {
    default: writeShape(Ticket, ['title'], { notes: nested(writeShape(Note, ['text'])) }),
    staff: writeShape(Ticket, ['title'], { notes: nested(writeShape(Note, ['text', 'isSecret']), { update: true }) }),
  },
}) {
  override writeShapeFor(request: FastifyRequest) {
    return nameOf(request) === 'staff' ? ('staff' as const) : undefined;
  }
}
class FileViewSet extends ModelViewSet(Ticket, {
  read,
  write: {
    default: brief,
    staff: writeShape(Ticket, ['title'], { screen: file({ store, maxBytes: 10, types: ['text/plain'] }) }),
  },
}) {
  override writeShapeFor(request: FastifyRequest) {
    return nameOf(request) === 'staff' ? ('staff' as const) : undefined;
  }
}
class BookViewSet extends ModelViewSet(Book, {
  read: readShape(Book, ['title', 'pages']),
  write: { default: writeShape(Book, ['title']), staff: writeShape(Book, ['pages']) },
}) {
  override writeShapeFor(request: FastifyRequest) {
    return nameOf(request) === 'staff' ? ('staff' as const) : undefined;
  }
}
class EnvelopedViewSet extends ModelViewSet(Ticket, { read, write, envelope: { one: 'ticket', many: 'tickets' } }) {
  override writeShapeFor(request: FastifyRequest) {
    return roleOf(request);
  }
}

forEachDatabase(t, { entities: [Ticket, Note, ...LIBRARY] }, async (t, orm) => {
  const router = new Router()
    .register('tickets', TicketViewSet)
    .register('hooked', HookedViewSet)
    .register('nested', NestedViewSet)
    .register('books', BookViewSet)
    .register('files', FileViewSet)
    .register('enveloped', EnvelopedViewSet);
  const app = await testApp(t, orm, [router]);
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: object, user = '') => {
    const response = await app.inject({ method, url, payload, headers: user === '' ? {} : { 'x-user': user } });
    return { status: response.statusCode, body: response.json() };
  };
  const make = async (): Promise<string> => {
    const { body } = await send('POST', '/tickets', { title: 'Lamp', price: 5, status: 'open' }, 'staff');
    return `/tickets/${body.id}`;
  };

  t.test('a POST accepts the fields of the chosen shape and drops those of the others', async (t) => {
    const sent = { title: 'Lamp', price: 5, status: 'sold' };
    t.match(await send('POST', '/tickets', sent), { status: 201, body: { title: 'Lamp', price: 1, status: 'open' } });
    t.match(await send('POST', '/tickets', sent, 'staff'), { status: 201, body: sent });
    const wrong = await send('POST', '/tickets', { title: 'Lamp', price: 'much' });
    t.equal(wrong.status, 201, 'nobody looks into a field that is not taken');
    t.equal((await send('POST', '/tickets', { title: 'Lamp', price: 'much' }, 'staff')).status, 400);
  });

  t.test('PUT and PATCH do the same', async (t) => {
    const url = await make();
    const sent = { title: 'Lamp', price: 9, status: 'sold' };
    t.match(await send('PUT', url, sent), { status: 200, body: { price: 5, status: 'open' } });
    t.match(await send('PATCH', url, { price: 9 }), { status: 200, body: { price: 5 } });
    t.match(await send('PATCH', url, sent, 'editor'), { body: { title: 'Lamp', price: 5, status: 'sold' } });
    t.match(await send('PUT', url, { price: 7, status: 'open' }, 'editor'), { body: { price: 5, status: 'open' } });
    t.match(await send('PUT', url, { price: 7 }, 'staff'), { status: 400, body: { error: /title is required/ } });
    t.match(await send('PATCH', url, { price: 7 }, 'staff'), { status: 200, body: { price: 7 } });
  });

  t.test('a write by a chosen shape is one statement still', async (t) => {
    await fillLibrary(orm);
    const queries = recordQueries(orm);
    t.match((await send('PATCH', '/books/1', { title: 'a', pages: 7 }, 'staff')).body, { title: 'Ash', pages: 7 });
    queries.stop();
    t.equal(queries.texts.length, 1);
  });

  t.test('a bulk request uses the shape of its request', async (t) => {
    const sent = [{ title: 'a', price: 5 }];
    t.match((await send('POST', '/tickets', sent)).body, [{ price: 1 }]);
    const { body } = await send('POST', '/tickets', sent, 'staff');
    t.match(body, [{ price: 5 }]);
    const changed = [{ id: body[0].id, price: 8, status: 'sold' }];
    t.match((await send('PATCH', '/tickets', changed)).body, [{ price: 5, status: 'open' }]);
    t.match((await send('PATCH', '/tickets', changed, 'editor')).body, [{ price: 5, status: 'sold' }]);
  });

  t.test('an action that writes has the shape of the operation', async (t) => {
    const url = await make();
    t.match((await send('POST', `${url}/double`, { by: 2 }, 'staff')).body, { price: 10 });
  });

  t.test('hooks, rules and further input see the chosen shape', async (t) => {
    const sent = { title: 'Lamp', price: 5, why: 'light' };
    t.match((await send('POST', '/hooked', sent)).body, { status: 'free', price: 1 });
    t.match((await send('POST', '/hooked', sent, 'staff')).body, { status: 'priced', price: 5 });
    t.equal((await send('POST', '/hooked', { title: 'a', price: 13 })).status, 201);
    t.match((await send('POST', '/hooked', { title: 'a', price: 13 }, 'staff')).body, { error: /price is unlucky/ });
    t.match((await send('POST', '/hooked', { title: 'after' })).body, { error: /title title$/ });
    t.match((await send('POST', '/hooked', { title: 'after' }, 'staff')).body, { error: /title price,status,title$/ });
  });

  t.test('children have the fields of the chosen shape', async (t) => {
    const secrets = async (id: number) =>
      (await orm.em.fork().find(Note, { ticket: id })).map(({ isSecret }) => isSecret);
    const sent = { title: 'a', notes: [{ text: 'n', isSecret: true }] };
    const own = await send('POST', '/nested', sent);
    t.same(await secrets(own.body.id), [false]);
    const staff = await send('POST', '/nested', sent, 'staff');
    t.same(await secrets(staff.body.id), [true]);
    t.equal((await send('PATCH', `/nested/${staff.body.id}`, { notes: [] })).status, 200);
    t.same(await secrets(staff.body.id), [true], 'the default shape writes no children on update');
    t.equal((await send('PATCH', `/nested/${staff.body.id}`, { notes: [] }, 'staff')).status, 200);
    t.same(await secrets(staff.body.id), []);
  });

  t.test('a form holds the files of the chosen shape', async (t) => {
    const part = (name: string, content: string, more = '') =>
      `--x\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;
    const post = (content: string, user?: string) =>
      app.inject({
        method: 'POST',
        url: '/files',
        headers: {
          'content-type': 'multipart/form-data; boundary=x',
          ...(user === undefined ? {} : { 'x-user': user }),
        },
        payload: `${part('title', 'a')}${part('screen', content, '; filename="a.txt"\r\ncontent-type: text/plain')}--x--\r\n`,
      });
    stored.length = 0;
    t.equal((await post('hello')).statusCode, 201);
    t.strictSame(stored, [], 'dropped, as any other file is');
    for (const user of [undefined, 'staff']) t.equal((await post('longer than ten bytes', user)).statusCode, 413);
    t.equal((await post('hello', 'staff')).statusCode, 201);
    t.equal(stored.length, 1);
  });

  t.test('an envelope changes nothing about it', async (t) => {
    const sent = { ticket: { title: 'a', price: 5 } };
    t.match((await send('POST', '/enveloped', sent)).body, { ticket: { price: 1 } });
    t.match((await send('POST', '/enveloped', sent, 'staff')).body, { ticket: { price: 5 } });
  });

  t.test('OPTIONS returns the shape of every write', async (t) => {
    const url = await make();
    const told = async (at: string, user?: string) => {
      const headers = user === undefined ? {} : { 'x-user': user };
      return (await app.inject({ method: 'OPTIONS', url: at, headers })).headers['permitted-shapes'];
    };
    t.equal(await told(url), 'replaceTicket=default, updateTicket=default');
    t.equal(await told(url, 'editor'), 'replaceTicket=editor, updateTicket=editor');
    t.equal(await told('/tickets', 'staff'), 'createTicket=staff, updateTickets=staff');
    t.equal(await told('/hooked', 'staff'), 'createHooked=staff');
  });

  t.test('a name that is not declared, or cannot create, is an error of the program', async (t) => {
    for (const name of ['stuff', 'default', 'constructor']) {
      const { status, body } = await send('PATCH', '/tickets/1', { title: 'a' }, name);
      t.strictSame([status, body.code], [500, 'improperly_configured'], name);
    }
    t.match(await send('POST', '/tickets', { status: 'sold' }, 'editor'), { status: 500 }, 'it has no title');
  });
});

t.test('invalid declarations fail at start', async (t) => {
  const orm = await openSqlite(t, { entities: [Ticket, Note] });
  const view = (given: object, isChosen = false) =>
    isChosen
      ? class View extends ModelViewSet(Ticket, { read, write: given as typeof write }) {
          override writeShapeFor() {
            return undefined;
          }
        }
      : class View extends ModelViewSet(Ticket, { read, write: given as typeof write }) {};
  const refused = async (given: object, message: RegExp, isChosen?: boolean) =>
    t.match(await errorAtStart(t, orm, view(given, isChosen)), message);
  await refused({}, /option "write" must be a writeShape\(\), a Type\.Object\(\), or an object of these by operation/);
  await refused({ default: 3 }, /option "write\.default" must be a writeShape\(\) or a Type\.Object\(\), got 3/);
  await refused({ create: brief }, /option "write" needs a shape of the name "default", or one for update/);
  await refused(write, /names a shape "staff", .* only writeShapeFor\(\) could choose it/);
  await refused({ default: brief, udpate: whole }, /names a shape "udpate", .* did you mean "update"\?/, true);
  await refused({ default: brief, list: whole }, /has a shape for "list"/, true);
  await refused({ default: write.editor }, /a new Ticket cannot be stored without "title"/);
  t.equal(await errorAtStart(t, orm, view(write, true)), undefined);
});

t.test('types', async (t) => {
  class Typed extends ModelViewSet(Ticket, { read, write }) {
    // @ts-expect-error no shape has this name
    override writeShapeFor() {
      return 'stuff' as const;
    }
  }
  class WrongField extends ModelViewSet(Ticket, {
    read,
    write: {
      default: brief,
      // @ts-expect-error no property has this name
      staff: Type.Object({ tilte: Type.String() }),
    },
  }) {}
  // @ts-expect-error there is no shape for update
  class Missing extends ModelViewSet(Ticket, { read, write: { create: brief } }) {}
  t.ok([Typed, WrongField, Missing]);
});
