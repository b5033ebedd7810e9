/** Numbers in the bodies of operations reach their routes with the digits that were sent. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { BatchViewSet } from '../src/index.ts';

const Price = defineEntity({
  name: 'Price',
  properties: {
    id: p.integer().primary(),
    amount: p.decimal('number').precision(20).scale(4).nullable(),
    ratio: p.double().nullable(),
    count: p.integer().nullable(),
    name: p.string().nullable(),
    list: p.json<unknown>().nullable(),
  },
});
const fields = ['amount', 'ratio', 'count', 'name', 'list'] as const;
class PriceViewSet extends ModelViewSet(Price, {
  read: readShape(Price, ['id', ...fields]),
  write: writeShape(Price, [...fields]),
  bulk: 10,
}) {}
class Batch extends BatchViewSet() {}

forEachDatabase(t, { entities: [Price] }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('prices', PriceViewSet).register('batch', Batch)]);
  const send = (...bodies: string[]) =>
    app.inject({
      method: 'POST',
      url: '/batch',
      headers: { 'content-type': 'application/json' },
      payload: `{"operations":[${bodies.map((body, index) => `{"id":"o${index}","method":"POST","path":"/prices","body":${body}}`).join()}]}`,
    });
  const countRecords = () => orm.em.fork().count(Price);

  t.test('a decimal that JavaScript rounds is rejected, like without a batch', async (t) => {
    const before = await countRecords();
    for (const body of [
      '{"amount":12345678901234.1234}',
      '{"amount":1.2345678901234561234e13,"name":null}',
      '[{"amount":1},{"amount":12345678901234.1234}]',
    ]) {
      const response = await send(body);
      t.equal(response.statusCode, 422, response.body);
      t.match(response.body, 'is a number that would be rounded', body);
    }
    const withReference = await send('{"name":"a"}', '{"name":{"$ref":"o0.name"},"amount":12345678901234.1234}');
    t.equal(withReference.statusCode, 422, withReference.body);
    t.match(withReference.body, 'would be rounded');
    const whole = await send('{"count":9007199254740993}');
    t.equal(whole.statusCode, 400, whole.body);
    t.equal(await countRecords(), before);
  });

  t.test('other numbers are stored as without a batch', async (t) => {
    for (const body of [
      '{"amount":999999999999.1234,"ratio":0.10000000000000001}',
      '{"ratio":0.1234567890123456789}',
      '{"amount":0.10000000000000001}',
      '{"amount":null,"ratio":-1.5e-7,"list":[0.12345678901234567890,{"a":1.5}]}',
    ]) {
      const response = await send(body);
      t.equal(response.statusCode, 200, response.body);
      const { id, ...stored } = response.json().answers[0].body;
      const direct = await app.inject({
        method: 'POST',
        url: '/prices',
        headers: { 'content-type': 'application/json' },
        payload: body,
      });
      for (const name of fields) t.strictSame(stored[name], direct.json()[name], `${id} ${name}`);
    }
  });
});
