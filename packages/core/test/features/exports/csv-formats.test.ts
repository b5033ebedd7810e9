/** CSV with another separator and a byte order mark, as spreadsheets need it. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { csv, ImproperlyConfigured, ModelViewSet, readShape, Router } from '../../../src/index.ts';
import { forEachDatabase, openSqlite } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    tags: p.json<readonly string[]>(),
    heat: p.double().nullable(),
  },
});
const read = readShape(Note, ['id', 'text', 'tags', 'heat']);

class PlainViewSet extends ModelViewSet(Note, { read, exports: ['csv', 'ndjson'] }) {}
class CommaViewSet extends ModelViewSet(Note, { read, exports: [csv()] }) {}
class ExcelViewSet extends ModelViewSet(Note, {
  read,
  exports: ['ndjson', csv({ bom: true, delimiter: ';' })],
  fields: true,
  filterFields: { id: 'id' },
}) {}
class TabViewSet extends ModelViewSet(Note, { read, exports: [csv({ delimiter: '\t' })] }) {}
class BarViewSet extends ModelViewSet(Note, { read, exports: [csv({ delimiter: '|', bom: false })] }) {}

const FILES = [
  ['plain', ',', ''],
  ['comma', ',', ''],
  ['excel', ';', '\ufeff'],
  ['tab', '\t', ''],
  ['bar', '|', ''],
] as const;

/** Reads CSV by the grammar of RFC 4180 with a given separator. Throws for any text that the grammar does not have. */
function readCsv(text: string, separator: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (let at = 0; at < text.length;) {
    let cell = '';
    if (text[at] === '"') {
      const [whole, inner] = /^"((?:[^"]|"")*)"/.exec(text.slice(at))!;
      cell = inner!.replaceAll('""', '"');
      at += whole.length;
    } else {
      const rest = text.slice(at);
      const end = rest.search(separator === '|' ? /[|\r\n"]/ : new RegExp(`[${separator}\r\n"]`));
      cell = rest.slice(0, end);
      at += end;
    }
    row.push(cell);
    if (text[at] === separator) {
      at += 1;
    } else if (text.startsWith('\r\n', at)) {
      rows.push(row);
      row = [];
      at += 2;
    } else {
      throw new Error(`neither a separator nor the end of a line: ${JSON.stringify(text.slice(at, at + 20))}`);
    }
  }
  return rows;
}

/** A text in the file, without the apostrophe that keeps it from being run. */
const defused = (text: string): string =>
  /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^[+-]?\d+(?:\.\d+)?$/.test(text) ? `'${text}` : text;

const PARTS = [
  ',',
  ';',
  '\t',
  '|',
  '"',
  '\r\n',
  '\n',
  '=',
  '+',
  '-',
  '@',
  "'",
  ' ',
  'a',
  '1',
  '.',
  'é',
  '😀',
  '\ufeff',
  '＝',
];
const pick = (): string => PARTS[Math.floor(Math.random() * PARTS.length)]!;
const randomText = (): string => Array.from({ length: 1 + Math.floor(Math.random() * 6) }, pick).join('');

forEachDatabase(t, { entities: [Note] }, async (t, orm) => {
  const texts = Array.from({ length: 300 }, randomText);
  const notes = texts.map((text, index) => ({
    id: index + 1,
    text,
    tags: index % 3 === 0 ? [] : [text, randomText()],
    heat: index % 2 === 0 ? null : -index / 4,
  }));
  await orm.em.fork().insertMany(Note, notes);
  const router = new Router()
    .register('plain', PlainViewSet)
    .register('comma', CommaViewSet)
    .register('excel', ExcelViewSet)
    .register('tab', TabViewSet)
    .register('bar', BarViewSet);
  const app = await testApp(t, orm, [router]);

  await t.test('random texts round-trip with every separator, and no cell begins a formula', async (t) => {
    const expected = notes.map(({ id, text, tags, heat }) => [
      String(id),
      defused(text),
      defused(JSON.stringify(tags)),
      heat === null ? '' : String(heat),
    ]);
    for (const [name, separator, mark] of FILES) {
      const { statusCode, headers, rawPayload } = await app.inject(`/${name}.csv`);
      t.strictSame(
        [statusCode, headers['content-type'], headers['content-disposition']],
        [200, 'text/csv; charset=utf-8; header=present', `attachment; filename="${name}.csv"`],
      );
      const sent = new TextDecoder('utf-8', { ignoreBOM: true }).decode(rawPayload);
      t.ok(sent.startsWith(`${mark}id${separator}text`), 'the mark comes before the names');
      const [names, ...rows] = readCsv(sent.slice(mark.length), separator);
      t.strictSame(names, ['id', 'text', 'tags', 'heat']);
      t.strictSame(rows, expected, name);
      for (const cell of rows.flatMap((row) => row)) {
        t.notOk(/^[=@\t\r\n]/.test(cell) || (/^[+-]/.test(cell) && !Number.isFinite(Number(cell))), cell);
      }
    }
  });

  await t.test('the mark comes once, also by `Accept` and for an empty list, and not in NDJSON', async (t) => {
    const accepting = await app.inject({ url: '/excel', headers: { accept: 'text/csv' } });
    t.strictSame(accepting.rawPayload, (await app.inject('/excel.csv')).rawPayload);
    const empty = await app.inject('/excel.csv?id=0');
    t.strictSame(empty.rawPayload, Buffer.from('\ufeffid;text;tags;heat\r\n'));
    const lines = await app.inject('/excel.ndjson');
    t.strictSame(lines.rawPayload.subarray(0, 1), Buffer.from('{'));
  });

  await t.test('a record whose only cell is empty is written as "" so that readers do not skip the line', async (t) => {
    t.equal((await app.inject('/excel.csv?id=1&fields=heat')).rawPayload.toString(), '\ufeffheat\r\n""\r\n');
  });
});

t.test('the declared schema of every format describes how it is written', async (t) => {
  const orm = await openSqlite(t, { entities: [Note] });
  const app = await testApp(t, orm, [new Router().register('excel', ExcelViewSet).register('plain', PlainViewSet)]);
  const described = app.viewset.operations
    .filter(({ variant }) => variant !== undefined)
    .map(({ path, responses }) => [path, responses[200]?.schema]);
  const line = 'The whole list: a line of names first, cells separated by';
  const ndjson = {
    type: 'string',
    contentMediaType: 'application/x-ndjson',
    description: 'The whole list: a record of JSON on each line',
  };
  t.strictSame(Object.fromEntries(described), {
    '/excel.ndjson': ndjson,
    '/excel.csv': {
      type: 'string',
      contentMediaType: 'text/csv',
      description: `${line} semicolons, after a byte order mark`,
    },
    '/plain.csv': { type: 'string', contentMediaType: 'text/csv', description: `${line} commas` },
    '/plain.ndjson': ndjson,
  });
});

t.test('wrong options fail at once, and name the option, the expected and the received value', async (t) => {
  const wrong: readonly (readonly [unknown, string])[] = [
    [{ bomb: true }, 'csv(): unknown option "bomb"; did you mean "bom"? Known options: bom, delimiter'],
    [{ bom: 'yes' }, 'csv(): option "bom" must be true or false, got "yes"'],
    [{ delimiter: '"' }, 'csv(): option "delimiter" must be one of ",", ";", "\\t", "|", got "\\""'],
    [{ delimiter: ';;' }, 'csv(): option "delimiter" must be one of ",", ";", "\\t", "|", got ";;"'],
    [{ delimiter: null }, 'csv(): option "delimiter" must be one of ",", ";", "\\t", "|", got null'],
    [';', 'csv(): the options must be an object, got ";"'],
  ];
  for (const [options, message] of wrong) {
    t.throws(() => csv(options as never), new ImproperlyConfigured(message));
  }
  const orm = await openSqlite(t, { entities: [Note] });
  const starts = async (exports: unknown): Promise<unknown> => {
    class NoteViewSet extends ModelViewSet(Note, { read, exports: exports as ['csv'] }) {}
    return testApp(t, orm, [new Router().register('notes', NoteViewSet)]);
  };
  for (const [exports, message] of [
    [['xml'], /option "exports\[0\]" must be "csv", csv\(\{ … \}\) or "ndjson", got "xml"/],
    [[csv], /option "exports\[0\]" must be "csv", csv\(\{ … \}\) or "ndjson", got the function csv/],
    [csv(), /option "exports" must be a list of formats, got an object of CsvFormat/],
    [['csv', csv()], /NoteViewSet: option "exports" must have each format once, but got "csv" twice/],
    [['ndjson', 'ndjson'], /NoteViewSet: option "exports" must have each format once, but got "ndjson" twice/],
  ] as const) {
    await t.rejects(starts(exports), { name: 'ImproperlyConfigured', message });
  }
});
