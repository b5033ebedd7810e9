/** What the store holds is what the records refer to, whoever writes them, in whatever transaction, at the same time or not at all. */
import {
  defineEntity,
  type EntityManager,
  type EntityName,
  type EventArgs,
  type EventSubscriber,
  type InferEntity,
  p,
  TransactionPropagation,
} from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import {
  action,
  type FileStore,
  FileType,
  file,
  ModelViewSet,
  nested,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { recordQueries } from '../../query/record-queries.ts';
import { forEachDatabase, openMongo, openPostgreSql, openSqlite } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Ticket = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    title: p.string().default(''),
    screen: p.type(FileType).nullable(),
    attachments: () => p.oneToMany(Attachment).mappedBy('ticket'),
  },
});
/** Goes with its ticket: the database deletes it. */
const Attachment = defineEntity({
  name: 'Attachment',
  properties: {
    id: p.integer().primary(),
    name: p.string().default(''),
    ticket: () => p.manyToOne(Ticket).deleteRule('cascade'),
    parent: (): object => p.manyToOne(Attachment).nullable().deleteRule('cascade'),
    file: p.type(FileType).nullable(),
  },
});
const ENTITIES = [Ticket, Attachment];
type TicketRecord = InferEntity<typeof Ticket>;

/** Files in memory. Tests put work of theirs in front of what a store does. */
class MemoryStore implements FileStore {
  readonly files = new Map<string, Buffer>();
  onGet: (key: string) => Promise<void> = nothing;
  onPut: () => Promise<void> = nothing;

  async put(key: string, content: Readable): Promise<void> {
    await this.onPut();
    this.files.set(key, await buffer(content));
  }

  async get(key: string): Promise<Readable> {
    await this.onGet(key);
    const found = this.files.get(key);
    if (found === undefined) throw new Error(`no file ${key}`);
    return Readable.from([found]);
  }

  async delete(key: string): Promise<void> {
    this.files.delete(key);
  }
}
async function nothing(): Promise<void> {}

const fileOf = (key: string) => ({ key, name: 'a.txt', size: 3, type: 'text/plain' });

/** Changes a record that is about to be updated. */
let changeBefore: (ticket: object) => void = () => {};

class ChangeBefore implements EventSubscriber {
  getSubscribedEntities(): EntityName[] {
    return [Ticket];
  }

  beforeUpdate({ entity }: EventArgs<object>): void {
    changeBefore(entity);
  }
}

const store = new MemoryStore();
const text = file({ store, maxBytes: 1000, types: ['text/plain'] });

/** The work of a test in the place of a hook. */
let hook: (name: string, request: FastifyRequest) => unknown = nothing;

class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'title', 'screen']),
  write: writeShape(Ticket, ['title'], { screen: text }),
  bulk: 10,
  validate: async (_data, _problems, request) => void (await hook('validate', request)),
  fill: { title: async (request) => ((await hook('fill', request)) as string | undefined) ?? 'filled' },
}) {
  override async checkObjectPermissions(request: FastifyRequest, ticket: TicketRecord) {
    await hook('checkObjectPermissions', request);
    return super.checkObjectPermissions(request, ticket);
  }

  override async performUpdate(request: FastifyRequest, ticket: TicketRecord, data: object) {
    const written = await super.performUpdate(request, ticket, data);
    await hook('performUpdate', request);
    return written;
  }

  override async performCreate(request: FastifyRequest, data: never) {
    const written = await super.performCreate(request, data);
    await hook('performCreate', request);
    return written;
  }

  override async performDestroy(request: FastifyRequest, ticket: TicketRecord) {
    await super.performDestroy(request, ticket);
    await hook('performDestroy', request);
  }

  away = action({ methods: ['post'], detail: true }, async (request) => {
    request.em.remove(await this.getObject(request));
    await request.em.flush();
    await hook('away', request);
    return {};
  });
}

/** Writes the same records, and knows nothing of files. */
class PlainTicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id', 'title']),
  write: writeShape(Ticket, ['title'], {
    attachments: nested(writeShape(Attachment, ['name']), { max: 10, update: true }),
  }),
  bulk: 10,
}) {}

class AttachmentViewSet extends ModelViewSet(Attachment, {
  read: readShape(Attachment, ['id', 'file'], { ticket: 'ticket.id' }),
  write: writeShape(Attachment, ['ticket', 'parent'], { file: text }),
}) {}

const router = (): Router =>
  new Router()
    .register('tickets', TicketViewSet)
    .register('attachments', AttachmentViewSet)
    .register('plain', PlainTicketViewSet);

function form(fields: Readonly<Record<string, string>>, files: Readonly<Record<string, string>> = {}) {
  const parts = [
    ...Object.entries(fields).map(([name, value]) => `name="${name}"\r\n\r\n${value}`),
    ...Object.entries(files).map(
      ([name, value]) => `name="${name}"; filename="${name}.txt"\r\ncontent-type: text/plain\r\n\r\n${value}`,
    ),
  ];
  const pieces = parts.map((part) => `--f\r\ncontent-disposition: form-data; ${part}\r\n`);
  return { payload: `${pieces.join('')}--f--\r\n`, headers: { 'content-type': 'multipart/form-data; boundary=f' } };
}

forEachDatabase(t, { entities: ENTITIES, orm: { subscribers: [new ChangeBefore()] } }, async (t, orm, database) => {
  let app: FastifyInstance;
  t.beforeEach(async (t) => {
    await orm.schema.clear();
    store.files.clear();
    store.onGet = store.onPut = hook = nothing;
    app = await testApp(t, orm, [router()]);
  });

  const post = (path: string, ...[fields, files]: Parameters<typeof form>) =>
    app.inject({ method: 'POST', url: `/${path}`, ...form(fields, files) });
  const patch = (id: number, screen: string) =>
    app.inject({ method: 'PATCH', url: `/tickets/${id}`, ...form({}, { screen }) });
  const destroy = (url: string) => app.inject({ method: 'DELETE', url });
  const made = async (screen = 'first'): Promise<number> =>
    (await post('tickets', {}, { screen })).json<{ id: number }>().id;
  const attached = async (ticket: number, parent?: number): Promise<number> => {
    const fields = { ticket: String(ticket), ...(parent !== undefined && { parent: String(parent) }) };
    const answer = await post('attachments', fields, { file: 'attached' });
    t.equal(answer.statusCode, 201, answer.body);
    return answer.json<{ id: number }>().id;
  };

  /** Waits until a statement on PostgreSQL waits for a lock. */
  async function someoneWaits(): Promise<void> {
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while (((await orm.em.getConnection().execute(waiting)) as unknown[]).length === 0) await sleep(10);
  }

  /** Compares the store with the records. */
  async function inStep(t: Test, count: number, message = 'the store and the records'): Promise<void> {
    const em = orm.em.fork();
    const kept = [
      ...(await em.find(Ticket, {})).map(({ screen }) => screen?.key),
      ...(await em.find(Attachment, {})).map((attachment) => (attachment.file as { key: string } | null)?.key),
    ].filter((key) => key !== undefined);
    t.strictSame([...store.files.keys()].toSorted(), kept.toSorted(), message);
    t.equal(kept.length, count, message);
  }

  await t.test('a file that is replaced during a GET is returned in its new version', async (t) => {
    const id = await made();
    let replaced = 0;
    store.onGet = async () => {
      if (replaced++ < 2) t.equal((await patch(id, `number ${replaced}`)).statusCode, 200);
    };
    const answer = await app.inject(`/tickets/${id}/screen`);
    t.equal(answer.statusCode, 200, answer.body);
    t.equal(answer.body, 'number 2');
    t.equal(answer.headers['content-length'], '8');
  });

  await t.test('a file that is deleted during a GET returns 404', async (t) => {
    for (const remove of [
      (id: number) => destroy(`/tickets/${id}`),
      (id: number) => app.inject({ method: 'PATCH', url: `/tickets/${id}`, payload: { screen: null } }),
    ]) {
      const id = await made();
      store.onGet = async () => void (await remove(id));
      t.equal((await app.inject(`/tickets/${id}/screen`)).statusCode, 404);
      store.onGet = nothing;
    }
  });

  await t.test('concurrent writes leave exactly one file', async (t) => {
    const id = await made();
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((screen) => patch(id, screen)));
    t.strictSame(
      answers.map(({ statusCode }) => statusCode),
      [200, 200, 200, 200],
    );
    await inStep(t, 1);
    const both = await Promise.all([patch(id, 'e'), destroy(`/tickets/${id}`), patch(id, 'f')]);
    t.equal(both[1].statusCode, 204);
    t.ok(
      both.every(({ statusCode }) => [200, 204, 404].includes(statusCode)),
      'no other status',
    );
    await inStep(t, 0);
  });

  await t.test('a write whose hook throws leaves no file', async (t) => {
    const failing: Readonly<Record<string, readonly string[]>> = {
      create: ['validate', 'fill', 'performCreate'],
      update: ['validate', 'checkObjectPermissions', 'performUpdate'],
      destroy: ['checkObjectPermissions', 'performDestroy'],
    };
    for (const thrown of [undefined, null, 0, '', false, new Error('no')]) {
      const id = await made();
      for (const [operation, names] of Object.entries(failing)) {
        for (const name of names) {
          hook = (called) => {
            // oxlint-disable-next-line typescript/only-throw-error -- as code may
            if (called === name) throw thrown;
          };
          const answer = await (operation === 'create'
            ? post('tickets', {}, { screen: 'x' })
            : operation === 'update'
              ? patch(id, 'y')
              : destroy(`/tickets/${id}`));
          hook = nothing;
          t.equal(answer.statusCode, 500, `${operation}, ${name}, ${String(thrown)}`);
          await inStep(t, 1, `${operation}, ${name}, ${String(thrown)}`);
        }
      }
      await destroy(`/tickets/${id}`);
    }
  });

  await t.test('records that go without a view of their files take these along', async (t) => {
    const [a, b, c] = [await made(), await made(), await made()];
    t.equal((await destroy(`/plain/${a}`)).statusCode, 204);
    await inStep(t, 2, 'by a view without file()');
    t.equal((await app.inject({ method: 'POST', url: `/tickets/${b}/away` })).statusCode, 200);
    await inStep(t, 1, 'by an action');
    const em = orm.em.fork();
    em.remove(em.getReference(Ticket, c));
    await em.flush();
    await inStep(t, 0, 'by a job, of a record that was not loaded');
  });

  await t.test('children that an update leaves out take their files along', async (t) => {
    const id = await made();
    const [kept] = [await attached(id), await attached(id)];
    await inStep(t, 3);
    const answer = await app.inject({ method: 'PATCH', url: `/plain/${id}`, payload: { attachments: [{ id: kept }] } });
    t.equal(answer.statusCode, 200, answer.body);
    await inStep(t, 2);
  });

  await t.test('records that the database deletes along take their files along, at every level', async (t) => {
    const [id, other] = [await made(), await made()];
    const top = await attached(id);
    await attached(other, await attached(other, top));
    await attached(other);
    await inStep(t, 6);
    t.equal((await destroy(`/attachments/${top}`)).statusCode, 204);
    await inStep(t, 3, 'by a relation to itself');
    t.equal((await destroy(`/plain/${other}`)).statusCode, 204);
    await inStep(t, 1);
  });

  await t.test('the same, though another ORM has discovered the classes since', async (t) => {
    const open = { sqlite: openSqlite, postgresql: openPostgreSql, mongodb: openMongo }[database];
    await open(t, { entities: ENTITIES });
    const id = await made();
    await attached(id, await attached(id));
    t.equal((await patch(id, 'second')).statusCode, 200);
    await inStep(t, 3, 'a file that was replaced');
    t.equal((await destroy(`/plain/${id}`)).statusCode, 204);
    await inStep(t, 0, 'the files of the records that went along');
  });

  await t.test('a record that gets a new file while the database deletes it along takes that file along', async (t) => {
    const id = await made();
    const attachment = await attached(id);
    let deletion: ReturnType<typeof destroy> | undefined;
    store.onPut = async () => {
      deletion = destroy(`/plain/${id}`);
      if (database === 'postgresql') await someoneWaits();
    };
    const change = form({}, { file: 'new' });
    const changed = await app.inject({ method: 'PATCH', url: `/attachments/${attachment}`, ...change });
    t.equal(changed.statusCode, 200, changed.body);
    t.equal((await deletion)?.statusCode, 204);
    await inStep(t, 0);
  });

  await t.test('a bulk write deletes the files that it replaces', async (t) => {
    const ids = [await made(), await made(), await made()];
    for (const id of ids) await attached(id);
    const cleared = await app.inject({ method: 'PATCH', url: '/tickets', payload: [{ id: ids[0], screen: null }] });
    t.equal(cleared.statusCode, 200, cleared.body);
    await inStep(t, 5);
    t.equal((await destroy(`/tickets?pk=${ids[0]},${ids[1]}`)).statusCode, 204);
    await inStep(t, 2);
    const plain = await app.inject({ method: 'POST', url: '/tickets', payload: [{ title: 'a' }, { title: 'b' }] });
    t.equal(plain.statusCode, 201, plain.body);
    t.equal((await destroy(`/tickets?pk=${ids[2]},99999`)).statusCode, 404);
    await inStep(t, 2, 'all or nothing');
  });

  await t.test('a change that a hook takes back keeps the files', async (t) => {
    const [id, other] = [await made(), await made()];
    hook = async (name, request) => {
      if (name !== 'performUpdate') return;
      const away = request.em.transactional(async (em: EntityManager) => {
        em.remove(await em.findOneOrFail(Ticket, other));
        await em.flush();
        throw new Error('no');
      });
      await away.catch(() => {});
    };
    // MongoDB has no savepoints that such a hook could take back.
    if (database !== 'mongodb') t.equal((await patch(id, 'new')).statusCode, 200);
    await inStep(t, 2);
    hook = async (name, request) => {
      if (name !== 'performUpdate') return;
      await request.em.transactional(async (em) => void em.remove(await em.findOneOrFail(Ticket, other)), {
        propagation: database === 'mongodb' ? TransactionPropagation.REQUIRED : TransactionPropagation.NESTED,
      });
    };
    t.equal((await patch(id, 'newer')).statusCode, 200);
    await inStep(t, 1);
  });

  await t.test('a unit of work that has not loaded a newer file deletes that file too', async (t) => {
    for (const change of ['null', 'replaced', 'deleted']) {
      const id = await made();
      const em = orm.em.fork();
      const ticket = await em.findOneOrFail(Ticket, id);
      t.equal((await patch(id, 'newer')).statusCode, 200);
      if (change === 'deleted') em.remove(ticket);
      else ticket.screen = null;
      if (change === 'replaced') {
        ticket.screen = fileOf('own');
        store.files.set('own', Buffer.from('own'));
      }
      await em.flush();
      await inStep(t, change === 'replaced' ? 1 : 0, change);
      await destroy(`/tickets/${id}`);
    }
  });

  await t.test(
    'the records of one flush are read at once, and those that a subscriber gives another file',
    async (t) => {
      const ids = [await made(), await made(), await made()];
      const em = orm.em.fork();
      const tickets = await em.find(Ticket, ids);
      for (const ticket of tickets) ticket.screen = null;
      const queries = recordQueries(orm);
      await em.flush();
      const reads = queries.texts.filter((text) => /^select |^db\..*\.find\(/.test(text));
      t.equal(reads.length, 1, reads.join('\n'));
      queries.stop();
      await inStep(t, 0);
      for (const id of ids) t.equal((await patch(id, 'again')).statusCode, 200);
      const [first, , last] = await em.find(Ticket, ids, { orderBy: { id: 1 }, refresh: true });
      first!.screen = null;
      last!.title = 'changed';
      changeBefore = (ticket) => {
        if (ticket === last) last.screen = null;
      };
      await em.flush();
      changeBefore = () => {};
      await inStep(t, 1, 'the one that was not changed');
    },
  );

  await t.test('more records than are read at once take their files along', async (t) => {
    const id = await made();
    const count = 2100;
    const rows = Array.from({ length: count }, (_, index) => ({ ticket: id, file: fileOf(`many-${index}`) }));
    for (const { file: of } of rows) store.files.set(of.key, Buffer.from('own'));
    await orm.em.fork().insertMany(Attachment, rows as never[]);
    t.equal((await destroy(`/tickets/${id}`)).statusCode, 204);
    await inStep(t, 0);
  });

  await t.test('only the name of a file changes', async (t) => {
    const id = await made();
    const em = orm.em.fork();
    const ticket = await em.findOneOrFail(Ticket, id);
    ticket.screen = { ...ticket.screen!, name: 'other.txt' };
    await em.flush();
    await inStep(t, 1);
  });

  await t.test('in a transaction of the application the files follow its commit or rollback', async (t) => {
    for (const ending of ['commit', 'rollback'] as const) {
      store.files.clear();
      await orm.schema.clear();
      const own = await testApp(t, orm, [router()], {
        before: (instance) => {
          instance.addHook('preHandler', (request) => request.em.begin());
          instance.addHook('onSend', (request) => request.em[ending]());
        },
      });
      const ids = [1, 2, 3];
      for (const id of ids) {
        const screen = { key: `old-${id}`, name: 'a.txt', size: 3, type: 'text/plain' };
        await orm.em.fork().insert(Ticket, { id, title: '', screen });
        store.files.set(screen.key, Buffer.from('old'));
      }
      const changed = await own.inject({ method: 'PATCH', url: '/tickets/1', ...form({}, { screen: 'new' }) });
      t.equal(changed.statusCode, 200, changed.body);
      const gone = await own.inject({ method: 'DELETE', url: '/tickets/2' });
      t.equal(gone.statusCode, 204, gone.body);
      hook = (name) => (name === 'performUpdate' ? Promise.reject(new Error('no')) : undefined);
      t.equal((await own.inject({ method: 'PATCH', url: '/tickets/3', ...form({}, { screen: 'x' }) })).statusCode, 500);
      hook = nothing;
      await inStep(t, ending === 'commit' ? 2 : 3, ending);
    }
  });

  await t.test('a client that disconnects at any time leaves the files that records refer to', async (t) => {
    await app.listen({ port: 0 });
    const { port } = app.server.address() as { port: number };
    const id = await made();
    const { payload, headers } = form({}, { screen: 'second' });
    const head = `PATCH /tickets/${id} HTTP/1.1\r\nhost: x\r\ncontent-type: ${headers['content-type']}\r\ncontent-length: ${payload.length}\r\n\r\n`;
    for (const stage of ['put', 'checkObjectPermissions', 'validate', 'performUpdate']) {
      const reached = Promise.withResolvers<void>();
      const gone = Promise.withResolvers<void>();
      const stop = async (name: string): Promise<void> => {
        if (name !== stage) return;
        reached.resolve();
        await gone.promise;
      };
      hook = stop;
      store.onPut = () => stop('put');
      const socket = connect(port);
      await once(socket, 'connect');
      socket.write(head + payload);
      await reached.promise;
      socket.destroy();
      await new Promise((resolve) => setTimeout(resolve, 50));
      gone.resolve();
      await new Promise((resolve) => setTimeout(resolve, 100));
      await inStep(t, 1, stage);
    }
  });
});
