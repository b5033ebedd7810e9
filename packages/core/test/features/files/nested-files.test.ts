/** Files of records that stand below other records: their links have the keys of the parents. */
import { defineEntity, p } from '@mikro-orm/core';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import {
  type FileStore,
  FileType,
  file,
  many,
  ModelViewSet,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Project = defineEntity({
  name: 'Project',
  properties: {
    id: p.integer().primary(),
    key: p.string().unique(),
    tickets: () => p.oneToMany(Ticket).mappedBy('project'),
  },
});
const Ticket = defineEntity({
  name: 'Ticket',
  properties: {
    id: p.integer().primary(),
    project: () => p.manyToOne(Project),
    attachments: () => p.oneToMany(Attachment).mappedBy('ticket'),
  },
});
const Attachment = defineEntity({
  name: 'Attachment',
  properties: {
    id: p.integer().primary(),
    ticket: () => p.manyToOne(Ticket),
    other: () => p.manyToOne(Ticket).nullable(),
    tickets: () => p.manyToMany(Ticket),
    file: p.type(FileType),
  },
});

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async (key) => Readable.from([files.get(key)!]),
  delete: async (key) => void files.delete(key),
};

class ProjectViewSet extends ModelViewSet(Project, {
  read: readShape(Project, ['key']),
  write: writeShape(Project, ['key']),
  lookupField: 'key',
}) {}
const attachment = readShape(Attachment, ['id', 'file']);
class TicketViewSet extends ModelViewSet(Ticket, {
  read: readShape(Ticket, ['id'], { attachments: many(attachment) }),
  write: writeShape(Ticket, ['project']),
}) {}
class AttachmentViewSet extends ModelViewSet(Attachment, {
  read: attachment,
  write: writeShape(Attachment, ['ticket'], { file: file({ store, maxBytes: 100, types: ['text/plain'] }) }),
}) {
  override represent(record: never) {
    return super.represent(record);
  }
}
/** The same without entities, which are made of rows otherwise. */
class AttachmentRowsViewSet extends ModelViewSet(Attachment, {
  read: attachment,
  write: writeShape(Attachment, ['ticket'], { file: file({ store, maxBytes: 100, types: ['text/plain'] }) }),
}) {}

const form = (text: string, fields = '') => ({
  payload: `${fields}--f\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n${text}\r\n--f--\r\n`,
  headers: { 'content-type': 'multipart/form-data; boundary=f' },
});

forEachDatabase(t, { entities: [Project, Ticket, Attachment] }, async (t, orm) => {
  t.beforeEach(async () => {
    files.clear();
    await orm.schema.clear();
    const em = orm.em.fork();
    await em.insertMany(Project, [
      { id: 1, key: 'light house' },
      { id: 2, key: 'harbour' },
    ]);
    await em.insertMany(Ticket, [
      { id: 10, project: 1 },
      { id: 20, project: 2 },
    ]);
  });

  for (const View of [AttachmentViewSet, AttachmentRowsViewSet]) {
    await t.test(`${View.name}: a link has the keys of all parents, wherever it is shown`, async (t) => {
      const app = await testApp(t, orm, [
        new Router({ prefix: 'api' })
          .register('projects', ProjectViewSet)
          .register('projects/:project/tickets', TicketViewSet)
          .register('projects/:project/tickets/:ticket/attachments', View),
      ]);
      const url = '/api/projects/light%20house/tickets/10/attachments';
      const made = await app.inject({ method: 'POST', url, ...form('hello') });
      t.equal(made.statusCode, 201, made.body);
      const { id, file: link } = made.json<{ id: number; file: { url: string } }>();
      t.equal(link.url, `${url}/${id}/file`);
      t.equal((await app.inject(link.url)).body, 'hello');
      const { results } = (await app.inject(url)).json<{ results: unknown[] }>();
      t.strictSame(results, [{ id, file: link }]);
      const ticket = await app.inject('/api/projects/light%20house/tickets/10');
      t.strictSame(ticket.json(), { id: 10, attachments: [{ id, file: link }] });
      const changed = await app.inject({ method: 'PATCH', url: `${url}/${id}`, ...form('bye') });
      t.equal(changed.statusCode, 200, changed.body);
      t.equal((await app.inject(link.url)).body, 'bye');
      t.equal((await app.inject(link.url.replace('light%20house', 'harbour'))).statusCode, 404);
      t.equal((await app.inject(link.url.replace('/10/', '/20/'))).statusCode, 404);
      t.equal((await app.inject({ method: 'DELETE', url: `${url}/${id}` })).statusCode, 204);
      t.equal(files.size, 0);
    });
  }

  await t.test('a view whose path has no parent links to its files', async (t) => {
    const app = await testApp(t, orm, [
      new Router()
        .register('attachments', AttachmentRowsViewSet)
        .register('tickets', TicketViewSet)
        .register('tickets/:ticket/attachments', AttachmentRowsViewSet),
    ]);
    const made = await app.inject({ method: 'POST', url: '/tickets/10/attachments', ...form('hello') });
    const { id, file: link } = made.json<{ id: number; file: { url: string } }>();
    t.equal(link.url, `/attachments/${id}/file`);
    t.equal((await app.inject(link.url)).body, 'hello');
    t.equal((await app.inject(`/tickets/10/attachments/${id}/file`)).body, 'hello');
  });
});

forEachDatabase(t, { entities: [Project, Ticket, Attachment], only: ['sqlite'] }, async (t, orm) => {
  await t.test('a path parameter that the record does not contain fails at start', async (t) => {
    const tickets = () => new Router().register('tickets', TicketViewSet);
    for (const router of [
      tickets().register('tickets/:other/attachments', AttachmentRowsViewSet),
      tickets().register('tickets/:ticket/attachments', AttachmentRowsViewSet, { parent: 'tickets' }),
    ]) {
      await t.rejects(testApp(t, orm, [router]), { message: /Attachment\.file is a file, and no view sends it/ });
    }
  });
});
