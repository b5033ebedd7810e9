/** One format of an application's own for the errors of every layer. */
import fastify, { type FastifyRequest } from 'fastify';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  type FormatError,
  HttpError,
  InvalidUsage,
  IPRateLimit,
  IsAuthenticated,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, openSqlite } from '../support/databases.ts';
import { Book, fillLibrary, LIBRARY } from '../support/library.ts';

const errorSchema = Type.Object({ errors: Type.Record(Type.String(), Type.Array(Type.String())) });

async function tooLate(): Promise<object> {
  throw new Error('too late');
}

/** The form of RealWorld. */
const formatError: FormatError = (error, request) => {
  if (error.message === 'secret: throw') throw new Error('the format fails');
  if (error.message === 'secret: nothing') return undefined as never;
  if (error.message === 'secret: text') return { body: 'text' as never };
  if (error.message === 'secret: status') return { status: 200, body: {} };
  if (error.message === 'secret: bigint') return { body: { errors: 1n } };
  if (error.message === 'secret: later') return tooLate() as never;
  if (error.message === 'secret: always' || (request?.url === '/books/always' && error.statusCode === 500)) {
    throw new Error('the format fails always');
  }
  const errors: Record<string, string[]> = {};
  for (const { path, message } of error.details ?? []) (errors[path.slice(1)] ??= []).push(message);
  if (error.details === undefined) errors['body'] = [error.message];
  return { status: error instanceof InvalidUsage ? 422 : error.statusCode, body: { errors } };
};

class Books extends ModelViewSet(Book, {
  read: readShape(Book, ['id', 'title']),
  write: writeShape(Book, ['title']),
}) {
  fail = action({}, (request: FastifyRequest) => {
    throw new HttpError(409, 'some_code', String(request.headers['x-message']));
  });
  always = action({}, () => {
    throw new HttpError(409, 'some_code', 'secret: always');
  });
  closed = action({ permissionClasses: [IsAuthenticated] }, () => ({}));
  limited = action({ throttles: [new IPRateLimit(1, 60)] }, () => ({}));
}

forEachDatabase(t, { entities: LIBRARY }, async (t, orm) => {
  await fillLibrary(orm);
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, formatError, errorSchema });
  await app.register(new Router().register('books', Books).plugin);
  const send = async (method: 'GET' | 'POST' | 'DELETE' | 'HEAD', url: string, given: object = {}) => {
    const { statusCode, body, headers } = await app.inject({ method, url, ...given });
    return { status: statusCode, headers, body: body === '' ? undefined : (JSON.parse(body) as unknown) };
  };
  const said = (name: string, message: string) => ({ errors: { [name]: [message] } });

  t.test('every layer uses the error format', async (t) => {
    const payload = { title: 7 };
    t.match(await send('POST', '/books', { payload }), { status: 422, body: said('title', 'must be a string') });
    t.match(await send('GET', '/books?colour=red'), { status: 422, body: { errors: { colour: [String] } } });
    t.match(await send('GET', '/books/999'), { status: 404, body: said('body', 'Not found') });
    t.match(await send('GET', '/nowhere'), { status: 404, body: said('body', 'No route GET /nowhere') });
    t.match(await send('DELETE', '/books'), {
      status: 405,
      headers: { allow: /POST/ },
      body: { errors: { body: [String] } },
    });
    t.match(await send('HEAD', '/books/999'), { status: 404, body: undefined });
    t.match(await send('GET', '/books/%zz'), { status: 400, body: said('body', 'The URL is not valid') });
    t.match(await send('GET', '/books/closed'), {
      status: 401,
      headers: { 'www-authenticate': 'Bearer' },
      body: said('body', 'Authentication is required'),
    });
    await send('GET', '/books/limited');
    t.match(await send('GET', '/books/limited'), { status: 429, headers: { 'retry-after': String } });
    const malformed = { payload: '{', headers: { 'content-type': 'application/json' } };
    t.match(await send('POST', '/books', malformed), { status: 400, body: { errors: { body: [String] } } });
  });

  t.test('a formatError that fails returns a 500 without details', async (t) => {
    const internal = said('body', 'An internal error occurred');
    for (const how of ['throw', 'nothing', 'text', 'status', 'bigint', 'later']) {
      const answer = await send('GET', '/books/fail', { headers: { 'x-message': `secret: ${how}` } });
      t.match(answer, { status: 500, body: internal }, how);
      t.notMatch(JSON.stringify(answer.body), 'secret');
    }
    const { body, status } = await send('GET', '/books/always');
    t.equal(status, 500);
    t.strictSame(body, { error: 'An internal error occurred', code: 'internal_error' }, 'the usual format is left');
  });

  t.test('documents have its statuses and its schema', async (t) => {
    const create = app.viewset.operations.find(({ operationId }) => operationId === 'createBook')!;
    t.strictSame(
      Object.keys(create.responses)
        .map(Number)
        .filter((status) => status < 430),
      [201, 400, 405, 408, 409, 412, 413, 414, 415, 422],
    );
    t.match(create.responses[422]!.schema, { title: 'Error', ...errorSchema });
  });
});

t.test('a response to malformed HTTP uses the format, without a request', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, formatError, errorSchema });
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), '127.0.0.1');
  socket.end('NO HTTP\r\n\r\n');
  const answer = await text(socket);
  t.match(answer, /^HTTP\/1\.1 400 /);
  t.match(answer, JSON.stringify({ errors: { body: ['The request is not valid HTTP'] } }));
});

t.test('formatError without errorSchema fails at start', async (t) => {
  const orm = await openSqlite(t, { entities: LIBRARY });
  await t.rejects(async () => fastify().register(viewset, { orm, formatError }), {
    message: /options "formatError" and "errorSchema" need each other/,
  });
});
