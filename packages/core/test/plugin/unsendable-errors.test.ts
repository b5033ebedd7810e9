/** Whatever is wrong with an error that an application throws, its answer has the one body and tells nothing of the inside. */
import t from 'tap';
import { action, HttpError, Permission, Router, ViewSet } from '../../src/index.ts';
import { openSqlite } from '../support/databases.ts';
import { LIBRARY, testApp } from '../support/library.ts';

const error = (properties: object): Error => Object.assign(new Error('a secret of the inside'), properties);
const throwing = (name: string, on: object = new Error('a secret of the inside')): object =>
  Object.defineProperty(on, name, {
    get() {
      throw new Error('a secret of the getter');
    },
  });
const circular: Record<string, unknown> = {};
circular['itself'] = circular;
const httpError = (status: number) => new HttpError(status, 'code', 'A sentence');

/** Errors, each with the status of its answer. */
const ERRORS: Readonly<Record<string, readonly [status: number, make: () => unknown]>> = {
  'a status that is no number': [500, () => error({ statusCode: Number.NaN })],
  'a status with a fraction': [500, () => error({ statusCode: 450.7 })],
  'a status that is a text': [500, () => error({ statusCode: '450' })],
  'a status of success': [500, () => error({ statusCode: 200 })],
  'a status that throws': [500, () => throwing('statusCode')],
  'a code that throws': [500, () => throwing('code')],
  'a code that is no text': [500, () => error({ code: throwing('toString', {}) })],
  'a validation that is no list': [500, () => error({ validation: true })],
  'a validation of nothing': [500, () => error({ validation: [null] })],
  'a message that is no text': [418, () => ({ statusCode: 418, message: Symbol('secret') })],
  'an HttpError of success': [500, () => httpError(200)],
  'an HttpError of no status': [500, () => httpError(99)],
  'details that are circular': [500, () => Object.assign(httpError(400), { details: circular })],
  'details that are no JSON': [500, () => Object.assign(httpError(400), { details: 1n })],
  'a body that throws': [500, () => Object.assign(httpError(400), { toBody: () => JSON.stringify(1n) })],
  'no body': [500, () => Object.assign(httpError(400), { toBody: () => undefined })],
  'headers that throw': [500, () => throwing('headers', httpError(400))],
  'a header that adds another': [400, () => Object.assign(httpError(400), { headers: { 'x-a': 'a\r\nx-b: secret' } })],
  'a name of a header that is none': [400, () => Object.assign(httpError(400), { headers: { 'x a': 'secret' } })],
  'an error that is frozen': [404, () => Object.freeze(Object.assign(new Error('No'), { statusCode: 404 }))],
};

t.test('errors of every callback', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  let make: (() => unknown) | undefined;
  const fail = (): void => {
    if (make !== undefined) throw make();
  };
  class Failing extends Permission {
    override hasPermission() {
      fail();
      return true;
    }
  }
  class ThingViewSet extends ViewSet {
    override permissionClasses = [Failing];
    override list() {
      return {};
    }
    act = action({ permissionClasses: [] }, () => {
      fail();
      return {};
    });
    late = action({ permissionClasses: [] }, async () => {
      fail();
      return {};
    });
    hooked = action(
      {
        permissionClasses: [],
        hooks: { preHandler: (_request, _reply, done) => done(make?.() as Error | undefined) },
      },
      () => ({}),
    );
  }
  const app = await testApp(t, orm, [new Router().register('things', ThingViewSet)]);
  for (const [name, [status, made]] of Object.entries(ERRORS)) {
    make = made;
    for (const url of ['/things', '/things/act', '/things/late']) {
      const response = await app.inject(url);
      t.equal(response.statusCode, status, `${name}: ${url}`);
      t.match(response.json(), { error: String, code: String }, `${name}: ${response.body}`);
      t.notMatch(response.body + JSON.stringify(response.headers), /secret|statusCode/, name);
      t.match(response.headers, { 'content-type': 'application/json; charset=utf-8' });
    }
  }
  make = () => error({ statusCode: 200 });
  t.equal((await app.inject('/things/hooked')).statusCode, 500);
});
