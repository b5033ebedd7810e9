/** The view of events that could not be delivered. */
import t from 'tap';
import { IsRoleAdminUser, Router } from '@viewset/core';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { testApp } from '../../core/test/support/library.ts';
import { DeadLetterViewSet, emit, OutboxEvent } from '../src/index.ts';
import { until } from './support/until.ts';
import { withOutbox } from './support/with-outbox.ts';

class DeadLetters extends DeadLetterViewSet({ permissionClasses: [IsRoleAdminUser] }) {}

forEachDatabase(t, { entities: [OutboxEvent] }, async (t, orm) => {
  t.test('administrators see dead letters, send them again and delete them', async (t) => {
    let isMended = false;
    const got: unknown[] = [];
    const app = await testApp(t, orm, [new Router().register('dead-letters', DeadLetters)], {
      before: withOutbox({
        pollMs: 600_000,
        maxAttempts: 1,
        log: { warn: () => {}, error: () => {} },
        handlers: {
          'order.paid': ({ payload, attempt }) => {
            if (!isMended) throw new Error('the mail server is away');
            got.push([payload, attempt]);
          },
        },
      }),
    });
    const em = orm.em.fork();
    const ids: string[] = [];
    for (const number of [1, 2]) ids.push(await emit({ em }, 'order.paid', { number }, { subject: `Order/${number}` }));
    await emit({ em }, 'order.seen', {});
    await until(async () => (await orm.em.fork().count(OutboxEvent, { status: 'waiting' })) === 0);
    const headers = { 'x-user': 'admin' };
    t.equal((await app.inject('/dead-letters')).statusCode, 401);
    t.equal((await app.inject({ url: '/dead-letters', headers: { 'x-user': 'Ada' } })).statusCode, 403);
    const list = await app.inject({ url: '/dead-letters?sort=created_at', headers });
    t.match(list.json(), {
      count: 2,
      results: [{ type: 'order.paid', attempts: 1, last_error: 'the mail server is away' }],
    });
    t.notOk('payload' in list.json().results[0]);
    const one = await app.inject({ url: `/dead-letters/${ids[0]}`, headers });
    t.match(one.json(), { id: ids[0], subject: 'Order/1', payload: { number: 1 } });

    isMended = true;
    const again = `/dead-letters/${ids[0]}/send-again`;
    t.equal((await app.inject({ method: 'POST', url: again })).statusCode, 401);
    t.strictSame(got, []);
    t.equal((await app.inject({ method: 'POST', url: again, headers })).statusCode, 204);
    await until(() => got.length > 0);
    t.strictSame(got, [[{ number: 1 }, 1]]);
    t.equal((await app.inject({ method: 'POST', url: again, headers })).statusCode, 404, 'it is none any more');
    t.equal((await app.inject({ method: 'DELETE', url: `/dead-letters?pk=${ids[1]}`, headers })).statusCode, 204);
    t.equal((await app.inject({ url: '/dead-letters', headers })).json().count, 0);
  });
});

t.test('a view without permissions is refused', async (t) => {
  for (const options of [{}, { permissionClasses: [] }, { permissionClasses: undefined }]) {
    t.throws(() => DeadLetterViewSet(options as never), {
      name: 'ImproperlyConfigured',
      message: /DeadLetterViewSet: option "permissionClasses" must be a list of at least one class/,
    });
  }
});
