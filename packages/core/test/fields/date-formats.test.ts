/** Dates and times by one grammar: in bodies, filters and cursors, from the first day to the last, with an offset. */
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { FastifyRequest, InjectOptions } from 'fastify';
import t from 'tap';
import {
  CursorPagination,
  ModelViewSet,
  QuerySet,
  readShape,
  resolveLookup,
  Router,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Offer = defineEntity({
  name: 'Offer',
  properties: {
    id: p.integer().primary(),
    since: p.datetime(3),
    until: p.datetime(3).nullable(),
    exact: p.datetime(6).nullable(),
    day: p.date().nullable(),
    opens: p.time().nullable(),
    plan: p.json().nullable(),
  },
});
const names = ['id', 'since', 'until', 'exact', 'day', 'opens'] as const;
const read = readShape(Offer, names);
const write = writeShape(Offer, ['since', 'until', 'exact', 'day', 'opens']);
const filterFields = {
  since: 'since',
  until: 'until',
  exact: 'exact',
  from: 'since__gte',
  before: 'until__lt',
  between: 'since__range',
  days: 'day__range',
  on: 'since__date',
  exactly_on: 'exact__date',
  opens: 'opens',
  opens_from: 'opens__gte',
} as const;
const options = { read, write, filterFields, orderingFields: { since: 'since', until: 'until' } } as const;

class OfferViewSet extends ModelViewSet(Offer, { ...options, exports: ['ndjson'], bulk: 5 }) {}
/** Writes in units of work, reads entities, and has cursors. */
class EntityViewSet extends ModelViewSet(Offer, { ...options, pagination: CursorPagination }) {
  override performUpdate(...[request, offer, data]: Parameters<OfferViewSet['performUpdate']>) {
    return super.performUpdate(request, offer, { ...data });
  }
  override represent(offer: InferEntity<typeof Offer>, request?: FastifyRequest) {
    return super.represent(offer, request);
  }
}

const FIRST = '0001-01-01T00:00:00.000Z';
const LAST = '9999-12-31T23:59:59.999Z';

forEachDatabase(t, { entities: [Offer] }, async (t, orm) => {
  const app = await testApp(
    t,
    orm,
    [new Router().register('offers', OfferViewSet).register('entities', EntityViewSet)],
    { options: { secret: 's'.repeat(32) } },
  );
  const send = async (method: InjectOptions['method'], url: string, payload?: object) => {
    const answer = await app.inject({ method: method!, url, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.json() };
  };
  const found = async (search: string): Promise<unknown> => {
    const { status, body } = await send('GET', `/offers?${search}`);
    return status === 200 ? body.results.map(({ id }: { id: number }) => id) : status;
  };

  t.test('the first and the last moment and day are values like others', async (t) => {
    const whole = { since: FIRST, until: LAST, exact: LAST, day: '0001-01-01', opens: '00:00:00' };
    const { status, body } = await send('POST', '/offers', whole);
    t.same([status, body], [201, { id: 1, ...whole }]);
    t.same(await send('PUT', '/offers/1', body), { status: 200, body }, 'as it was read');
    t.same(await send('PUT', '/entities/1', body), { status: 200, body });
    t.same((await send('PATCH', '/offers', [{ id: 1, day: '9999-12-31' }])).status, 200);
    const last = { since: LAST, until: FIRST, exact: FIRST, day: '9999-12-31', opens: '23:59:59' };
    t.same((await send('POST', '/entities', last)).body, { id: 2, ...last });
    t.same((await send('GET', '/entities/2')).body, { id: 2, ...last });
    const { payload } = await app.inject('/offers.ndjson?sort=since');
    t.same(
      payload
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).since),
      [FIRST, LAST],
    );
  });

  t.test('filters find them', async (t) => {
    t.same(await found('since=0001-01-01T00:00:00Z'), [1]);
    t.same(await found('until=9999-12-31T23:59:59.999Z'), [1]);
    t.same(await found('exact=9999-12-31T23:59:59.999Z'), [1]);
    t.same(await found('from=9999-12-31T23:59:59Z'), [2]);
    t.same(await found('before=9999-12-31T23:59:59.999Z'), [2]);
    t.same(await found('between=0001-01-01T00:00:00Z,9999-12-31T23:59:59.999Z'), [1, 2]);
    t.same(await found('between=0001-01-01,9999-12-31'), [1], 'a day alone is its beginning in UTC');
    t.same(await found('days=0001-01-01,9999-12-31'), [1, 2]);
  });

  t.test('cursors page past them', async (t) => {
    for (const sort of ['since', '-since', 'until', '-until']) {
      const ids: number[] = [];
      let cursor: string | null = '';
      do {
        const { body } = await send('GET', `/entities?page_size=1&sort=${sort}&cursor=${cursor}`);
        ids.push(...body.results.map(({ id }: { id: number }) => id));
        cursor = body.next_cursor;
      } while (cursor !== null && ids.length < 4);
      t.same(ids, ['since', '-until'].includes(sort) ? [1, 2] : [2, 1], sort);
    }
  });

  t.test('a time without an offset is rejected, in a body and in a filter', async (t) => {
    for (const text of ['2026-07-01T10:00:00', '2026-07-01 10:00', '2026-07-01T10:00', '2026-07-01T10:00:00.5']) {
      const { status, body } = await send('PATCH', '/offers/1', { since: text });
      t.match([status, body.details], [400, [{ path: '/since', message: /date and time/ }]], text);
      for (const name of ['since', 'from', 'between']) {
        const value = name === 'between' ? `${text},2026-07-02T10:00:00Z` : text;
        t.equal(await found(`${name}=${encodeURIComponent(value)}`), 400, `${name}=${text}`);
      }
    }
  });

  t.test('moments before the first and after the last are rejected, in a body and in a filter', async (t) => {
    for (const text of [
      '0001-01-01T00:00:00+00:01',
      '9999-12-31T23:59:59-00:01',
      '0000-12-31T23:59:59Z',
      '+010000-01-01T00:00:00Z',
    ]) {
      t.equal((await send('PATCH', '/offers/1', { since: text })).status, 400, text);
      t.equal(await found(`since=${encodeURIComponent(text)}`), 400, text);
    }
    t.equal((await send('PATCH', '/offers/1', { day: '0000-12-31' })).status, 400);
    t.equal((await send('PATCH', '/offers/1', { since: '9999-12-31t23:59:59.999z' })).body.since, LAST);
    t.equal((await send('PATCH', '/offers/1', { since: '0001-01-01T01:00:00+01:00' })).body.since, FIRST);
  });

  t.test('a time of day without seconds, as browsers send it, is stored with zero seconds', async (t) => {
    t.equal((await send('PATCH', '/offers/1', { opens: '09:30' })).body.opens, '09:30:00');
    t.equal((await send('PATCH', '/entities/2', { opens: '09:30' })).body.opens, '09:30:00');
    t.same(await found('opens=09:30'), [1, 2]);
    t.same(await found('opens=09:30:00'), [1, 2]);
    t.same(await found('opens_from=09:31'), []);
    for (const opens of ['9:30', '24:00', '09:60', '09:30Z', '09']) {
      t.equal((await send('PATCH', '/offers/1', { opens })).status, 400, opens);
    }
  });

  t.test('the lookup date finds the moments of a day in UTC', async (t) => {
    const put = (id: number, since: string) => send('PATCH', `/offers/${id}`, { since, exact: since });
    await put(1, '2026-07-01T00:00:00+02:00');
    await put(2, '2026-06-30T23:59:59.999Z');
    t.same(await found('on=2026-06-30'), [1, 2]);
    t.same(await found('on=2026-07-01'), []);
    await put(1, '2026-07-01T00:00:00Z');
    t.same(await found('on=2026-07-01'), [1]);
    t.same(await found('exactly_on=2026-06-30'), [2]);
    await put(1, FIRST);
    await put(2, LAST);
    t.same(await found('on=0001-01-01'), [1]);
    t.same(await found('on=9999-12-31'), [2]);
    for (const text of ['2026-07-01T00:00:00Z', '2026-02-30', '0000-01-01', 'today']) {
      t.equal(await found(`on=${text}`), 400);
    }
    const { queryParameters } = app.viewset.operations.find(({ operationId }) => operationId === 'listOffers')!;
    t.match(queryParameters.find(({ name }) => name === 'on')?.schema, {
      format: 'date',
      description: 'Since, on this day in UTC',
    });
    const some = QuerySet.of(orm.em.fork(), Offer).filter({ since__date: '9999-12-31' });
    t.equal(await some.count(), 1);
    t.throws(() => resolveLookup(orm.getMetadata().get(Offer), 'day__date'), /which has no "date"/);
  });
});
