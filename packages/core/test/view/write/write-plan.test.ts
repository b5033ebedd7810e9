import { defineEntity, type InferEntity, type MikroORM, p } from '@mikro-orm/core';
import fastify, { type FastifyRequest } from 'fastify';
import t from 'tap';
import {
  action,
  Forbidden,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  serverOptions,
  viewset,
  type WriteData,
  writeShape,
} from '../../../src/index.ts';
import { type DatabaseName, forEachDatabase } from '../../support/databases.ts';
import { Book, LIBRARY, Publisher, testApp } from '../../support/library.ts';

type BookRecord = InferEntity<typeof Book>;
type Data = WriteData<BookRecord, { title: string; pages?: number; in_print?: boolean }>;

const read = readShape(Book, ['id', 'title', 'pages', 'in_print']);
const write = writeShape(Book, ['title', 'pages', 'in_print']);

class BookViewSet extends ModelViewSet(Book, { read, write }) {}

class HookedViewSet extends ModelViewSet(Book, { read, write }) {
  override performCreate(request: FastifyRequest, data: Data) {
    return super.performCreate(request, data);
  }
  override performUpdate(request: FastifyRequest, book: BookRecord, data: Partial<Data>) {
    return super.performUpdate(request, book, data);
  }
}

class GuardedViewSet extends ModelViewSet(Book, { read, write }) {
  override async checkObjectPermissions(_request: FastifyRequest, book: BookRecord) {
    if (book.title === 'Guarded') throw new Forbidden('That book is guarded');
  }
}

/** Those who are logged in write books in print, whatever they see. */
class InPrint extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<BookRecord>(view, { in_print: true });
  }
}

class OfNorth extends Permission {
  override scope(_request: FastifyRequest, view: PermissionView) {
    return this.records<BookRecord>(view, { publisher__name: 'North' });
  }
}

/** The same, of books that belong to others. */
class NeverOfNorth extends OfNorth.not() {}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm, database) => {
  const fill = async () => {
    await orm.schema.clear();
    const em = orm.em.fork();
    const north = em.create(Publisher, { name: 'North' });
    em.create(Book, { id: 101, title: 'Guarded', publisher: north });
    em.create(Book, { id: 102, title: 'Free', publisher: north });
    await em.flush();
  };
  const books = async () =>
    (await orm.em.fork().findAll(Book, { orderBy: { id: 1 } })).map(({ id, title, in_print }) => [id, title, in_print]);
  const STORED = [
    [101, 'Guarded', true],
    [102, 'Free', true],
  ];

  t.test('an override of checkObjectPermissions is called for every record that is accessed', async (t) => {
    await fill();
    const app = await testApp(t, orm, [new Router().register('books', GuardedViewSet)]);
    for (const [method, payload] of [
      ['GET', undefined],
      ['PUT', { title: 'x' }],
      ['PATCH', { title: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      const refused = await app.inject({ method, url: '/books/101', ...(payload && { payload }) });
      t.equal(refused.statusCode, 403, method);
      t.equal(refused.json().error, 'That book is guarded');
      t.ok((await app.inject({ method, url: '/books/102', ...(payload && { payload }) })).statusCode < 300, method);
    }
    t.same(await books(), [[101, 'Guarded', true]]);
  });

  for (const Base of [BookViewSet, HookedViewSet]) {
    t.test(`a record cannot be written out of the user's scope, by ${Base.name}`, async (t) => {
      await fill();
      class Scoped extends Base {
        override permissionClasses = [InPrint];
      }
      const app = await testApp(t, orm, [new Router().register('books', Scoped)]);
      const user = { 'x-user': 'Ada' };
      for (const [method, url, payload] of [
        ['POST', '/books', { title: 'Planted', in_print: false }],
        ['PATCH', '/books/101', { in_print: false }],
        ['PUT', '/books/101', { title: 'Moved', in_print: false }],
      ] as const) {
        const refused = await app.inject({ method, url, payload, headers: user });
        t.equal(refused.statusCode, 403, `${method} ${refused.body}`);
        t.equal(refused.json().code, 'forbidden');
        t.equal((await app.inject({ method, url, payload })).statusCode, 401, 'of those who are not logged in');
      }
      t.same(await books(), STORED);
      const created = await app.inject({ method: 'POST', url: '/books', payload: { title: 'New' } });
      t.equal(created.statusCode, 201, created.body);
      t.equal((await app.inject({ method: 'PATCH', url: '/books/101', payload: { pages: 5 } })).statusCode, 200);
      t.equal((await app.inject({ method: 'PUT', url: '/books/102', payload: { title: 'Put' } })).statusCode, 200);
    });

    t.test(`a record cannot be written out of a scope of related records, by ${Base.name}`, async (t) => {
      for (const [Class, status] of [
        [OfNorth, 403],
        [NeverOfNorth, 201],
      ] as const) {
        await fill();
        class Scoped extends Base {
          override permissionClasses = [Class];
        }
        const app = await testApp(t, orm, [new Router().register('books', Scoped)]);
        const answer = await app.inject({
          method: 'POST',
          url: '/books',
          payload: { title: 'Of nobody' },
          headers: { 'x-user': 'Ada' },
        });
        t.equal(answer.statusCode, status, answer.body);
        t.equal((await books()).length, status === 201 ? 3 : 2);
      }
    });

    const withoutTriggers = { skip: database === 'mongodb' && 'MongoDB has no triggers' };
    t.test(`a response contains the changes of triggers, by ${Base.name}`, withoutTriggers, async (t) => {
      await fill();
      for (const sql of afterTrigger(database)) await orm.em.getConnection().execute(sql);
      t.teardown(() => dropTriggers(orm, database));
      const app = await testApp(t, orm, [new Router().register('books', Base)]);
      const created = await app.inject({ method: 'POST', url: '/books', payload: { title: 'New', pages: 3 } });
      t.match(created.json(), { title: 'New', pages: 4 });
      const { id } = created.json();
      const changed = await app.inject({ method: 'PATCH', url: `/books/${id}`, payload: { title: 'Newer', pages: 7 } });
      t.match(changed.json(), { pages: 8 });
      t.same((await app.inject(`/books/${id}`)).json(), changed.json());
    });

    t.test(
      `a trigger that drops an insert is a conflict, and the log names the reason, by ${Base.name}`,
      withoutTriggers,
      async (t) => {
        await fill();
        for (const sql of droppingTrigger(database)) await orm.em.getConnection().execute(sql);
        t.teardown(() => dropTriggers(orm, database));
        const lines: { err?: { message: string } }[] = [];
        const app = fastify(serverOptions({ logger: { stream: { write: (line) => lines.push(JSON.parse(line)) } } }));
        t.teardown(() => app.close());
        await app.register(viewset, { orm });
        await app.register(new Router().register('books', Base).plugin);
        const dropped = await app.inject({ method: 'POST', url: '/books', payload: { title: 'dropped' } });
        t.equal(dropped.statusCode, 409, dropped.body);
        t.equal(dropped.json().error, 'The database did not store the record');
        t.equal(dropped.headers.location, undefined);
        t.ok(lines.some(({ err }) => /stored no record.*trigger/.test(err?.message ?? '')));
        t.same(await books(), STORED);
        t.equal((await app.inject({ method: 'POST', url: '/books', payload: { title: 'kept' } })).statusCode, 201);
      },
    );
  }

  t.test('explain() describes how a view writes, and the log does at level debug', async (t) => {
    await fill();
    const lines: { view?: string; operation?: string; reasons?: string[] }[] = [];
    const app = fastify(
      serverOptions({ logger: { level: 'debug', stream: { write: (line) => lines.push(JSON.parse(line)) } } }),
    );
    t.teardown(() => app.close());
    await app.register(viewset, { orm });
    const explained: InstanceType<typeof BookViewSet>[] = [];
    const remembered = <View extends new () => InstanceType<typeof BookViewSet>>(View: View): View => {
      class Remembered extends (View as typeof BookViewSet) {
        constructor() {
          super();
          explained.push(this);
        }
        override get name() {
          return View.name;
        }
      }
      return Remembered as unknown as View;
    };
    const views = [BookViewSet, HookedViewSet, GuardedViewSet].map((View) => remembered(View));
    const router = new Router();
    for (const [index, View] of views.entries()) router.register(`books${index}`, View);
    await app.register(router.plugin);
    await app.ready();
    const [plain, hooked, guarded] = explained.map((view) => view.explain());
    const one = { oneStatement: true, reasons: [] };
    t.same(plain, { create: one, update: one, destroy: one });
    t.same(hooked, {
      create: { oneStatement: false, reasons: ['HookedViewSet overrides performCreate'] },
      update: { oneStatement: false, reasons: ['HookedViewSet overrides performUpdate'] },
      destroy: one,
    });
    t.match(guarded!.destroy.reasons, ['GuardedViewSet overrides checkObjectPermissions']);
    t.same(
      lines.filter(({ view }) => view !== undefined).map(({ view, operation }) => [view, operation]),
      [
        ['HookedViewSet', 'create'],
        ['HookedViewSet', 'update'],
        ['GuardedViewSet', 'update'],
        ['GuardedViewSet', 'destroy'],
      ],
    );
  });
});

/** Adds one page to a book after it was written. */
function afterTrigger(database: DatabaseName): string[] {
  if (database === 'sqlite') {
    return ['insert', 'update of title'].map(
      (event) => `create trigger after_${event.slice(0, 6)} after ${event} on book
        begin update book set pages = new.pages + 1 where id = new.id; end`,
    );
  }
  return [
    `create function one_more() returns trigger language plpgsql as $$ begin
      update book set pages = new.pages + 1 where id = new.id; return null; end $$`,
    'create trigger after_write after insert or update of title on book for each row execute function one_more()',
  ];
}

function droppingTrigger(database: DatabaseName): string[] {
  if (database === 'sqlite') {
    return [`create trigger dropping before insert on book when new.title = 'dropped' begin select raise(ignore); end`];
  }
  return [
    'create function drop_it() returns trigger language plpgsql as $$ begin return null; end $$',
    `create trigger dropping before insert on book for each row when (new.title = 'dropped') execute function drop_it()`,
  ];
}

async function dropTriggers(orm: MikroORM, database: DatabaseName): Promise<void> {
  const statements =
    database === 'sqlite'
      ? ['after_insert', 'after_update', 'dropping'].map((name) => `drop trigger if exists ${name}`)
      : ['one_more', 'drop_it'].map((name) => `drop function if exists ${name} cascade`);
  for (const sql of statements) await orm.em.getConnection().execute(sql);
}

const properties = { id: p.integer().primary(), name: p.string().length(50) };
const ShelfSchema = defineEntity({ name: 'Shelf', properties });
class Shelf extends ShelfSchema.class {}
ShelfSchema.setClass(Shelf);
const LabelSchema = defineEntity({ name: 'Label', properties });
class Label extends LabelSchema.class {
  override name = 'without a name';
}
LabelSchema.setClass(Label);
const BoxSchema = defineEntity({ name: 'Box', properties });
/** An empty class as a bundler writes it that keeps names. */
class Box extends BoxSchema.class {
  static {
    Object.defineProperty(this, 'name', { value: 'Box', configurable: true });
  }
}
BoxSchema.setClass(Box);

forEachDatabase(t, { entities: [Shelf, Label, Box] }, async (t, orm) => {
  t.test(
    'an entity whose class is empty is written in one statement, an entity whose class has fields is not',
    async (t) => {
      class ShelfViewSet extends ModelViewSet(Shelf, {
        read: readShape(Shelf, ['id', 'name']),
        write: writeShape(Shelf, ['name']),
      }) {
        explanation = action({}, () => this.explain());
      }
      class LabelViewSet extends ModelViewSet(Label, {
        read: readShape(Label, ['id', 'name']),
        write: writeShape(Label, ['name']),
      }) {
        explanation = action({}, () => this.explain());
      }
      class BoxViewSet extends ModelViewSet(Box, {
        read: readShape(Box, ['id', 'name']),
        write: writeShape(Box, ['name']),
      }) {
        explanation = action({}, () => this.explain());
      }
      const app = await testApp(t, orm, [
        new Router().register('shelves', ShelfViewSet).register('labels', LabelViewSet).register('boxes', BoxViewSet),
      ]);
      const explained = async (name: string) => (await app.inject(`/${name}/explanation`)).json().create;
      t.strictSame(await explained('shelves'), { oneStatement: true, reasons: [] });
      t.strictSame(await explained('boxes'), { oneStatement: true, reasons: [] }, 'whatever its text');
      t.strictSame(await explained('labels'), {
        oneStatement: false,
        reasons: ['the class of Label has code of its own'],
      });
      const answer = await app.inject({ method: 'POST', url: '/shelves', payload: { name: 'Upper' } });
      t.strictSame([answer.statusCode, answer.json().name], [201, 'Upper']);
    },
  );
});
