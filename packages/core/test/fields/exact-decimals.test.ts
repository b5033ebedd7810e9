/** A decimal is stored with all its digits, or rejected. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { file, FileType, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Part = defineEntity({
  name: 'Part',
  embeddable: true,
  properties: {
    cost: p.decimal('string').precision(24).scale(4).nullable(),
    amount: p.decimal('number').precision(20).scale(4).nullable(),
  },
});
const Price = defineEntity({
  name: 'Price',
  properties: {
    id: p.integer().primary(),
    tiny: p.decimal('string').precision(24).scale(12).nullable(),
    big: p.decimal('string').precision(50).scale(2).nullable(),
    code: p.decimal('string').precision(24).scale(4).unique().nullable(),
    amount: p.decimal('number').precision(20).scale(4).nullable(),
    list: p.decimal('string').precision(24).scale(4).array().nullable(),
    inline: () => p.embedded(Part).nullable(),
    stored: () => p.embedded(Part).object().nullable(),
    part: () => p.embedded(Part).nullable(),
    data: p.json<unknown>().nullable(),
    scan: p.type(FileType).nullable(),
  },
});
const fields = ['tiny', 'big', 'code', 'amount', 'list', 'inline', 'stored', 'part', 'data'] as const;

class PriceViewSet extends ModelViewSet(Price, {
  read: readShape(Price, ['id', ...fields]),
  write: writeShape(Price, [...fields]),
  bulk: 100,
  pagination: null,
}) {}
const store = { put: async () => {}, get: async () => undefined, delete: async () => {} };
class FormViewSet extends ModelViewSet(Price, {
  read: readShape(Price, ['id', ...fields]),
  write: writeShape(Price, [...fields], {
    scan: file({ store: store as never, maxBytes: 1, types: ['text/plain'] }),
  }),
}) {}
class EntityViewSet extends ModelViewSet(Price, {
  read: readShape(Price, ['id', ...fields]),
  write: writeShape(Price, [...fields]),
}) {
  override represent(record: never) {
    return super.represent(record);
  }
}

/** The number of a decimal, without the zeros that some databases add. */
const short = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

forEachDatabase(t, { entities: [Part, Price] }, async (t, orm, database) => {
  const app = await testApp(t, orm, [
    new Router().register('prices', PriceViewSet).register('entities', EntityViewSet).register('forms', FormViewSet),
  ]);
  const send = async (method: 'POST' | 'PATCH', url: string, payload: object) => {
    const response = await app.inject({ method, url, payload });
    return { status: response.statusCode, body: response.json() };
  };
  const read = async (id: number) => (await app.inject(`/prices/${id}`)).json();

  t.test('every accepted decimal is read as it was sent', async (t) => {
    let accepted = 0;
    for (let round = 0; round < 110; round++) {
      const digits = 1 + (round % 22);
      const whole = Array.from(
        { length: Math.min(digits, 12) },
        (_, i) => (i === 0 ? 1 : 0) + Math.floor(Math.random() * 9),
      ).join('');
      const fraction = Array.from({ length: Math.max(0, digits - 12) || round % 5 }, () =>
        Math.floor(Math.random() * 10),
      ).join('');
      const tiny = `${round % 3 === 0 ? '-' : ''}${round % 4 === 0 ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`;
      for (const url of ['/prices', '/entities']) {
        const { status, body } = await send('POST', url, { tiny });
        const isKept = database !== 'sqlite' || tiny.replaceAll(/\D/g, '').length <= 15;
        if (isKept) t.equal(status, 201, `${tiny}: ${JSON.stringify(body)}`);
        if (status !== 201) {
          t.equal(body.details[0].message, 'has more digits than the database keeps', tiny);
          continue;
        }
        accepted += 1;
        const [sent, responded, stored] = [tiny, body.tiny, (await read(body.id)).tiny].map((text: string) =>
          short(text).replace(/^-0$/, '0'),
        );
        t.equal(responded, sent);
        t.equal(stored, sent);
      }
    }
    t.ok(accepted > 90, `${accepted} decimals`);
  });

  t.test('small and large decimals have no exponent', async (t) => {
    for (const url of ['/prices', '/entities']) {
      const { body } = await send('POST', url, { tiny: '0.0000001', big: '1000000000000000000000' });
      t.equal(short(body.tiny), '0.0000001');
      t.equal(short(body.big), '1000000000000000000000');
      t.strictSame(await read(body.id), body);
    }
  });

  t.test('a database that keeps fewer digits rejects the others', async (t) => {
    const kept = { sqlite: 15, postgresql: 50, mongodb: 34 }[database];
    for (const digits of [15, 34, 35, 50]) {
      const big = `${'1'.repeat(digits - 2)}.23`;
      const { status, body } = await send('POST', '/prices', { big });
      t.equal(status, digits <= kept ? 201 : 400, `${digits} digits: ${JSON.stringify(body)}`);
      if (status === 201) t.equal(body.big, big);
    }
    const cost = '1234567890123456.1234';
    const { status, body } = await send('POST', '/prices', { inline: { cost } });
    t.equal(status, database === 'sqlite' ? 400 : 201);
    t.equal(
      database === 'sqlite' ? body.details[0].path : body.inline.cost,
      database === 'sqlite' ? '/inline/cost' : cost,
    );
  });

  t.test('a number that JavaScript rounds is rejected', async (t) => {
    const inBody = (name: string, text: string) =>
      app.inject({
        method: 'POST',
        url: '/prices',
        headers: { 'content-type': 'application/json' },
        payload: `{"${name}":${text}}`,
      });
    const inForm = (text: string) =>
      app.inject({
        method: 'POST',
        url: '/forms',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        payload: `--x\r\nContent-Disposition: form-data; name="amount"\r\n\r\n${text}\r\n--x--\r\n`,
      });
    for (const text of [
      '1234567890123456.1234',
      '12345678901234.1234',
      '123456789012345.12345',
      '1.2345678901234561234e13',
    ]) {
      for (const response of [await inBody('amount', text), ...(text.includes('e') ? [] : [await inForm(text)])]) {
        t.equal(response.statusCode, 400, `${text}: ${response.body}`);
        t.equal(response.json().details[0].message, 'is a number that would be rounded', text);
        t.equal(response.json().details[0].path, '/amount');
      }
    }
    const inPart = await inBody('part', '{"amount":12345678901234.1234}');
    t.equal(inPart.json().details?.[0].path, '/part/amount', inPart.body);
    // The value of 0.1 as C prints a double.
    for (const [text, amount] of [
      ['0.10000000000000001', 0.1],
      ['1e15', 1e15],
      ['999999999999.1234', 999_999_999_999.1234],
    ] as const) {
      for (const response of [await inBody('amount', text), await inForm(text)]) {
        t.equal(response.json().amount, amount, `${text}: ${response.body}`);
      }
    }
    const bulk = await app.inject({
      method: 'POST',
      url: '/prices',
      headers: { 'content-type': 'application/json' },
      payload: '[{"amount":1},{"amount":12345678901234.1234}]',
    });
    t.equal(bulk.json().details?.[0].path, '/1/amount', bulk.body);
    const inJson = await app.inject({
      method: 'POST',
      url: '/forms',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      payload: '--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n{"id":9007199254740993}\r\n--x--\r\n',
    });
    t.equal(inJson.statusCode, 400, inJson.body);
    t.equal(inJson.json().details?.[0].path, '/data/id');
  });

  t.test('lists and embeddables in one column keep all digits', async (t) => {
    const cost = '1234567890123456.1234';
    const { status, body } = await send('POST', '/prices', { list: [cost], stored: { cost, amount: 1 } });
    t.equal(status, 201, JSON.stringify(body));
    t.strictSame([body.list, body.stored], [[cost], { cost, amount: 1 }]);
    t.strictSame(await read(body.id), body);
  });

  t.test('a change of the last digit is stored, and unique decimals are exchanged', async (t) => {
    const codes =
      database === 'sqlite'
        ? ['12345678901.1234', '12345678901.1235']
        : ['1234567890123456.1234', '1234567890123456.1235'];
    const ids = await Promise.all(
      codes.map(async (code) => (await send('POST', '/prices', { code })).body.id as number),
    );
    const swapped = await send('PATCH', '/prices', [
      { id: ids[0], code: codes[1] },
      { id: ids[1], code: codes[0] },
    ] as never);
    t.equal(swapped.status, 200, JSON.stringify(swapped.body));
    t.equal((await read(ids[0]!)).code, codes[1]);
    t.equal((await read(ids[1]!)).code, codes[0]);
    const tiny =
      database === 'sqlite'
        ? ['12345.123456789', '12345.123456788']
        : ['12345678901.123456789012', '12345678901.123456789013'];
    for (const url of ['/prices', '/entities']) {
      const { body } = await send('POST', url, { tiny: tiny[0] });
      t.equal((await send('PATCH', `${url}/${body.id}`, { tiny: tiny[1] })).status, 200);
      t.equal(short((await read(body.id)).tiny), tiny[1]);
      await send(
        'PATCH',
        url === '/prices' ? url : `${url}/${body.id}`,
        url === '/prices' ? [{ id: body.id, tiny: tiny[0] }] : { tiny: tiny[0] },
      );
      t.equal(short((await read(body.id)).tiny), tiny[0]);
    }
  });
});
