/** `exists()` and `count()` with conditions at random, read, filtered and ordered by, over HTTP, against a model that counts one by one. */
import type { EntityName, MikroORM } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import {
  count,
  CursorPagination,
  exists,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
} from '../../src/index.ts';
import { COUNT, Dice, entities, fill, SEED } from '../query/random-conditions.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Paper = entities[2]! as unknown as EntityName<Row>;

/** A record of any of the entities, with those that it is related to. */
interface Row {
  readonly id: number;
  readonly name: string | null;
  readonly level: number | null;
  readonly writer?: Row | null;
  readonly reader?: Row | null;
  readonly labels?: Iterable<Row>;
  readonly notes?: Iterable<Row>;
  readonly papers?: Iterable<Row>;
}
/** What the headers of a request say. */
interface Asker {
  readonly least: number | null;
  readonly scope: number;
}
interface Counted {
  readonly name: string;
  readonly isCount: boolean;
  readonly value: ReturnType<typeof count<Row, never>>;
  readonly of: (row: Row, asker: Asker) => number | boolean;
}
type Fits = (row: Row) => boolean;

const dice = new Dice(SEED);

/** Lookups, and what they mean. */
function anyCondition(isPaper: boolean): readonly [lookups: Record<string, unknown>, fits: Fits] {
  const level = dice.below(3);
  const isNull = dice.below(2) === 0;
  const kinds: readonly (readonly [string, unknown, Fits])[] = [
    ['level__gte', level, (row) => row.level !== null && row.level >= level],
    ['level__lt', level, (row) => row.level !== null && row.level < level],
    ['level__isnull', isNull, (row) => (row.level === null) === isNull],
    ['name', 'a', (row) => row.name === 'a'],
    ['name__in', ['ab', 'b'], (row) => row.name === 'ab' || row.name === 'b'],
  ];
  const ofPapers = ['notes__level__gte', level, (row: Row) => [...row.notes!].some(kinds[0]![2])] as const;
  const chosen = [...(isPaper ? [...kinds, ofPapers] : kinds)].filter(() => dice.below(4) === 0);
  const lookups = Object.fromEntries(chosen.map(([lookup, value]) => [lookup, value]));
  return [lookups, (row) => chosen.every(([, , fits]) => fits(row))];
}

const WAYS: readonly (readonly [way: string, of: (row: Row) => Iterable<Row>])[] = [
  ['labels', (row) => row.labels!],
  ['notes', (row) => row.notes!],
  ['writer.papers', (row) => row.writer?.papers ?? []],
  ['reader.papers', (row) => row.reader?.papers ?? []],
];

const asked = (request: FastifyRequest): Asker => JSON.parse(String(request.headers['x-asker'])) as Asker;

function anyCounted(index: number): Counted {
  const [way, related] = dice.oneOf(WAYS);
  const isCount = dice.below(2) === 0;
  const [lookups, fits] = anyCondition(way.endsWith('papers'));
  const dependsOnRequest = dice.below(3) === 0;
  const conditions = dependsOnRequest
    ? (request: FastifyRequest) => {
        const { least } = asked(request);
        return least === null ? null : { level__gte: least };
      }
    : lookups;
  const counts = (row: Row, { least }: Asker): boolean =>
    dependsOnRequest ? least !== null && row.level !== null && row.level >= least : fits(row);
  return {
    name: `f${index}`,
    isCount,
    value: (isCount ? count : exists)(way as never, conditions as never) as Counted['value'],
    of: (row, asker) => {
      const found = [...related(row)].filter((each) => counts(each, asker)).length;
      return isCount ? found : found > 0;
    },
  };
}

const FIELDS = Array.from({ length: 16 }, (_, index) => anyCounted(index));
const values = Object.fromEntries(FIELDS.map(({ name, value }) => [name, value]));
const minima = FIELDS.filter(({ isCount }) => isCount).map(({ name, value }) => [`min_${name}`, [value, 'gte']]);

class InScope extends Permission {
  override scope(request: FastifyRequest, view: PermissionView) {
    return this.records<Row>(view, { id__lte: asked(request).scope });
  }
}
class Papers extends ModelViewSet(Paper, {
  read: readShape(Paper, ['id'], values as never),
  orderingFields: { ...values, level: 'level' } as never,
  filterFields: { ...values, ...Object.fromEntries(minima) } as never,
  pagination: CursorPagination,
  permissionClasses: [InScope],
}) {}

interface Page {
  readonly results?: readonly object[];
  readonly next_cursor?: string | null;
}
interface Question {
  readonly asker: Asker;
  readonly sort: readonly (readonly [name: string, descending: boolean])[];
  readonly filters: readonly (readonly [parameter: string, value: number | boolean])[];
  readonly pageSize: number;
}

function anyQuestion(): Question {
  const names = [...FIELDS.map(({ name }) => name), 'level'];
  const sort = new Map(Array.from({ length: 1 + dice.below(3) }, () => [dice.oneOf(names), dice.below(2) === 0]));
  const filters = new Map<string, number | boolean>(
    Array.from({ length: dice.below(3) }, (): [string, number | boolean] => {
      const { name, isCount } = dice.oneOf(FIELDS);
      return isCount ? [dice.oneOf([name, `min_${name}`]), dice.below(3)] : [name, dice.below(2) === 0];
    }),
  );
  return {
    asker: { least: dice.oneOf([0, 1, 2, null]), scope: dice.oneOf([9, 14]) },
    sort: [...sort],
    filters: [...filters],
    pageSize: 1 + dice.below(6),
  };
}

/** The answer, counted one by one. */
function expected(rows: readonly Row[], { asker, sort, filters }: Question): object[] {
  const shown = rows
    .filter(({ id }) => id <= asker.scope)
    .map((row) => ({ row, told: Object.fromEntries(FIELDS.map(({ name, of }) => [name, of(row, asker)])) }))
    .filter(({ told }) =>
      filters.every(([parameter, value]) =>
        parameter.startsWith('min_') ? told[parameter.slice(4)]! >= value : told[parameter] === value,
      ),
    );
  const keyOf = ({ row, told }: (typeof shown)[number], name: string): number =>
    name === 'level' ? (row.level ?? Infinity) : Number(told[name]);
  shown.sort((one, other) => {
    for (const [name, descending] of sort) {
      const [a, b] = [keyOf(one, name), keyOf(other, name)];
      if (a !== b) return a < b !== descending ? -1 : 1;
    }
    return one.row.id - other.row.id;
  });
  return shown.map(({ row, told }) => ({ id: row.id, ...told }));
}

async function rowsOf(orm: MikroORM): Promise<readonly Row[]> {
  const populate = ['labels', 'notes', 'writer.papers.notes', 'reader.papers.notes'] as never[];
  return orm.em.fork().find(Paper, {}, { populate, orderBy: { id: 1 } }) as Promise<Row[]>;
}

forEachDatabase(t, { entities }, async (t, orm) => {
  await fill(orm.em.fork());
  const rows = await rowsOf(orm);
  const app = await testApp(t, orm, [new Router().register('papers', Papers)], {
    options: { secret: 'at least thirty-two bytes of secret' },
  });
  const wrong: object[] = [];
  let answered = 0;
  for (let index = 0; index < COUNT / 3; index++) {
    const question = anyQuestion();
    const { asker, sort, filters, pageSize } = question;
    const query = new URLSearchParams({
      ...Object.fromEntries(filters.map(([name, value]) => [name, String(value)])),
      sort: sort.map(([name, descending]) => (descending ? `-${name}` : name)).join(),
      page_size: String(pageSize),
    });
    const found: object[] = [];
    do {
      const url = `/papers?${query.toString()}`;
      const response = await app.inject({ url, headers: { 'x-asker': JSON.stringify(asker) } });
      const page = response.json<Page>();
      if (page.results === undefined) t.fail(`${url}: ${response.body}`);
      found.push(...(page.results ?? []));
      query.set('cursor', page.next_cursor ?? '');
    } while (query.get('cursor') !== '');
    const model = expected(rows, question);
    answered += model.length;
    if (JSON.stringify(found) !== JSON.stringify(model)) wrong.push({ question, found, model });
  }
  t.ok(answered > COUNT / 2, `${answered} records were compared`);
  t.strictSame(wrong.slice(0, 1), [], `no answer of ${Math.ceil(COUNT / 3)} differs, seed ${SEED}`);
});
