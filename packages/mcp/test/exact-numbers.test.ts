/** Numbers in the arguments of tools reach the routes with the digits that were sent. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { mcp } from '../src/index.ts';

const Price = defineEntity({
  name: 'Price',
  properties: {
    id: p.bigint('string').primary(),
    amount: p.decimal('number').precision(20).scale(4).nullable(),
    name: p.string().nullable(),
  },
});
class PriceViewSet extends ModelViewSet(Price, {
  read: readShape(Price, ['id', 'amount', 'name']),
  write: writeShape(Price, ['amount', 'name']),
  filterFields: { id: 'id', amount: 'amount', amounts: 'amount__in' },
}) {}

forEachDatabase(t, { entities: [Price] }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('prices', PriceViewSet)], {
    before: async (app) => {
      await app.register(mcp, { resources: ['prices'], anonymous: true });
    },
  });
  const call = async (name: string, args: string) => {
    const response = await app.inject({
      method: 'POST',
      url: '/mcp',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      payload: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`,
    });
    t.equal(response.statusCode, 200, response.body);
    const text = response.headers['content-type']?.toString().startsWith('text/event-stream')
      ? response.body.split('data:')[1]!
      : response.body;
    const { result } = JSON.parse(text);
    return { isError: result.isError === true, value: result.structuredContent ?? result.content, text };
  };
  const even = '9007199254740992';
  await orm.em.fork().insert(Price, { id: even, amount: 1, name: 'even' });

  t.test('a decimal that JavaScript rounds is an error of the tool', async (t) => {
    for (const values of ['{"amount":12345678901234.1234}', JSON.stringify('{"amount":12345678901234.1234}')]) {
      const { isError, text } = await call('create', `{"resource":"prices","values":${values}}`);
      t.equal(isError, true, text);
      t.match(text, 'would be rounded');
    }
    const { isError, text } = await call('create', '{"resource":"prices","values":{"amount":12.5}}');
    t.equal(isError, false, text);
    const whole = await call('create', '{"resource":"prices","values":{"amount":9007199254740993}}');
    t.equal(whole.isError, true, whole.text);
    t.match(whole.text, 'values.amount is a whole number that would be rounded; send it as a text');
  });

  t.test('a message with a number that JavaScript rounds is an error', async (t) => {
    for (const [id, meta] of [
      ['9007199254740993', '{}'],
      ['1', '{"progressToken":9007199254740993}'],
    ]) {
      const response = await app.inject({
        method: 'POST',
        url: '/mcp',
        headers: { 'content-type': 'application/json' },
        payload: `{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":{"_meta":${meta}}}`,
      });
      t.ok(response.statusCode < 500, response.body);
      t.match(response.json(), { error: { code: Number } }, response.body);
    }
  });

  t.test('the key of a record is not rounded to that of another', async (t) => {
    for (const tool of ['get', 'delete']) {
      const { isError, text } = await call(tool, '{"resource":"prices","id":9007199254740993}');
      t.equal(isError, true, text);
    }
    t.match(await call('get', `{"resource":"prices","id":"${even}"}`), { isError: false });
    t.match(await call('get', `{"resource":"prices","id":${even}}`), { isError: false });
    const found = await call('search', '{"resource":"prices","query":{"id":9007199254740993}}');
    t.notMatch(found.text, '"even"');
  });

  t.test('a filter has the digits that were sent', async (t) => {
    const em = orm.em.fork();
    await em.insert(Price, { id: '5', amount: 12345678901234.123 as never, name: 'near' });
    for (const query of ['{"amount":12345678901234.1234}', '{"amounts":[12345678901234.1234,1]}']) {
      const { text } = await call('search', `{"resource":"prices","query":${query}}`);
      t.notMatch(text, '"near"', query);
    }
  });
});
