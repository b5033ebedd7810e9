/** What the inputs of a browser's form send: an empty text for no value, and lists as `labels[]`. */
import { defineEntity, p } from '@mikro-orm/core';
import { Readable } from 'node:stream';
import t from 'tap';
import { Type } from 'typebox';
import { file, type FileStore, FileType, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Kind = defineEntity({ name: 'Kind', properties: { id: p.integer().primary(), name: p.string().unique() } });
const Form = defineEntity({
  name: 'Form',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(20),
    note: p.text().nullable(),
    code: p.string().length(20).nullable(),
    day: p.date().nullable(),
    at: p.datetime(3).nullable(),
    time: p.time().nullable(),
    size: p.enum(['small', 'large']).nullable(),
    level: p.enum([1, 2]).nullable(),
    uuid: p.uuid().nullable(),
    count: p.integer().nullable(),
    big: p.bigint('string').nullable(),
    price: p.decimal('string').precision(8).scale(2).nullable(),
    isOn: p.boolean().nullable(),
    due: p.date(),
    labels: p.string().array().nullable(),
    numbers: p.integer().array().nullable(),
    data: p.json().nullable(),
    photo: p.type(FileType).nullable(),
    kind: () => p.manyToOne(Kind).nullable(),
  },
});

const store: FileStore = {
  async put(_key, content) {
    await content.resume().toArray();
  },
  get: async () => Readable.from([]),
  async delete() {},
};
const NULLABLE = ['day', 'at', 'time', 'size', 'level', 'uuid', 'count', 'big', 'price', 'isOn'] as const;
const names = ['title', 'note', ...NULLABLE, 'due', 'labels', 'numbers', 'data'] as const;

class FormViewSet extends ModelViewSet(Form, {
  read: readShape(Form, ['id', ...names, 'code', 'photo'], { kind: 'kind.name' }),
  write: writeShape(Form, names, {
    code: Type.Optional(Type.Union([Type.String({ pattern: '^[A-Z]+$' }), Type.Null()])),
    kind: 'kind.name',
    photo: file({ store, maxBytes: 1000, types: ['text/plain'] }),
  }),
}) {}

type Part = readonly [name: string, content: string, filename?: string];

forEachDatabase(t, { entities: [Kind, Form] }, async (t, orm) => {
  const em = orm.em.fork();
  em.create(Kind, { id: 1, name: 'A' });
  await em.flush();
  const app = await testApp(t, orm, [new Router().register('forms', FormViewSet)]);
  const send = async (method: 'POST' | 'PUT' | 'PATCH', url: string, parts: readonly Part[]) => {
    const payload = parts
      .map(([name, content, filename]) => {
        const named = filename === undefined ? '' : `; filename="${filename}"`;
        return `--x\r\ncontent-disposition: form-data; name="${name}"${named}\r\n\r\n${content}\r\n`;
      })
      .join('');
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const answer = await app.inject({ method, url, payload: `${payload}--x--\r\n`, headers });
    return { status: answer.statusCode, body: answer.json() };
  };
  const whole: Part[] = [
    ['title', 'x'],
    ['due', '2026-07-01'],
    ['data', '{}'],
  ];
  const pathsOf = ({ status, body }: Awaited<ReturnType<typeof send>>): unknown =>
    status === 400 ? body.details.map(({ path }: { path: string }) => path).toSorted() : status;

  t.test('an empty text is NULL where a field can be NULL and no empty text', async (t) => {
    const empty = [...NULLABLE, 'code', 'kind', 'labels', 'numbers'];
    const { status, body } = await send('POST', '/forms', [...whole, ...empty.map((name): Part => [name, ''])]);
    t.equal(status, 201, JSON.stringify(body));
    for (const name of empty) t.equal(body[name], null, name);
    const filled: Part[] = [
      ['day', '2026-07-01'],
      ['time', '09:30'],
      ['size', 'small'],
      ['code', 'A'],
      ['kind', 'A'],
    ];
    const changed = await send('PATCH', `/forms/${body.id}`, filled);
    t.match(changed.body, { day: '2026-07-01', time: '09:30:00', size: 'small', code: 'A', kind: 'A' });
    t.match(
      await send(
        'PATCH',
        `/forms/${body.id}`,
        filled.map(([name]) => [name, '']),
      ),
      {
        status: 200,
        body: { day: null, time: null, size: null, code: null, kind: null },
      },
    );
  });

  t.test('an empty text stays one where a field can be one', async (t) => {
    const { body } = await send('POST', '/forms', [...whole, ['note', ''], ['title', 'x']].slice(1) as Part[]);
    t.match(body, { note: '', title: 'x' });
  });

  t.test('an empty text is rejected for a field that cannot be NULL', async (t) => {
    t.same(
      pathsOf(
        await send('POST', '/forms', [
          ['title', 'x'],
          ['due', ''],
          ['data', '{}'],
        ]),
      ),
      ['/due'],
    );
  });

  t.test('a date and time needs its offset', async (t) => {
    t.same(pathsOf(await send('POST', '/forms', [...whole, ['at', '2026-07-01T10:00']])), ['/at']);
    t.match(await send('POST', '/forms', [...whole, ['at', '9999-12-31T23:59:59Z']]), { status: 201 });
  });

  t.test('labels[] is an item of the list labels', async (t) => {
    const of = async (...parts: Part[]) => (await send('POST', '/forms', [...whole, ...parts])).body;
    t.match(await of(['labels[]', 'a']), { labels: ['a'] });
    t.match(await of(['labels[]', 'a'], ['labels[]', 'b'], ['numbers[]', '1']), { labels: ['a', 'b'], numbers: [1] });
    t.match(await of(['labels', 'a'], ['labels[]', 'b']), { labels: ['a', 'b'] });
    t.match(await of(['labels[]', '[1']), { labels: ['[1'] });
  });

  t.test('another name of that kind is refused, and not dropped', async (t) => {
    for (const name of ['labels[0]', 'labels.0', 'data[color]', 'data.color', 'title[0]', 'photo[0]']) {
      t.same(pathsOf(await send('POST', '/forms', [...whole, [name, 'a']])), [`/${name}`], name);
    }
    t.same(pathsOf(await send('POST', '/forms', [...whole, ['photo.name', 'a', 'a.txt']])), ['/photo.name']);
    t.same(pathsOf(await send('PATCH', '/forms/1', [['title[]', 'a']])), ['/title']);
    t.match(await send('POST', '/forms', [...whole, ['unknown[]', 'a'], ['unknown.b', 'b']]), { status: 201 });
  });

  t.test('a file may be named as an item too', async (t) => {
    t.match(await send('POST', '/forms', [...whole, ['photo[]', 'a', 'a.txt']]), {
      status: 201,
      body: { photo: { name: 'a.txt' } },
    });
    const two: Part[] = [
      ['photo[]', 'a', 'a.txt'],
      ['photo[]', 'b', 'b.txt'],
    ];
    t.same(pathsOf(await send('POST', '/forms', [...whole, ...two])), ['/photo']);
  });
});
