/** Actions that answer with records of their view, and views without PUT or without PATCH. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import {
  action,
  LimitOffsetPagination,
  ModelViewSet,
  readShape,
  type RecordRequest,
  Router,
  ViewSet,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';
import { fillTags, SHELVES, Tag } from '../support/shelves.ts';

const options = {
  read: { default: readShape(Tag, ['id', 'name']), list: readShape(Tag, ['name']) },
  write: writeShape(Tag, ['name']),
} as const;

const JOB = Type.Object({ job: Type.Integer() });
const LATER = Type.Object({ later: Type.Optional(Type.Boolean()) });

/** An action that answers with its record or, if it is asked to, with another declared success. */
const queued = (recordOf: (request: RecordRequest) => Promise<object>) =>
  action(
    { answers: 'record', methods: ['post'], detail: true, querystring: LATER, responses: { 202: JOB } },
    async (request, reply) => {
      if (request.query.later !== true) return recordOf(request);
      reply.code(202);
      return { job: 7 };
    },
  );

class Tags extends ModelViewSet(Tag, {
  ...options,
  envelope: { one: 'tag', many: 'tags', count: 'count' },
  pagination: LimitOffsetPagination,
}) {
  feed = action({ answers: 'page' }, async (request, reply) =>
    this.paginate(request, this.filterQueryset(request, this.getQueryset(request)), reply),
  );
  favorite = action({ answers: 'record', methods: ['post'], detail: true }, async (request) =>
    this.represent(await this.getObject(request), request),
  );
  queue = queued(async (request) => this.represent(await this.getObject(request), request));
}
class Several extends ModelViewSet(Tag, {
  ...options,
  read: { ...options.read, named: readShape(Tag, ['name']) },
}) {
  override readShapeFor(request: FastifyRequest) {
    return request.headers['x-shape'] === 'named' ? 'named' : undefined;
  }

  queue = queued(async (request) => this.represent(await this.getObject(request), request));
}
class Replaced extends ModelViewSet(Tag, { ...options, updateMethods: ['PUT'], bulk: 3 }) {}
class Changed extends ModelViewSet(Tag, { ...options, updateMethods: ['PATCH'], bulk: 3 }) {}
class Written extends ModelViewSet(Tag, { ...options, operations: ['create', 'list'] }) {}

forEachDatabase(t, { entities: SHELVES }, async (t, orm) => {
  t.beforeEach(() => fillTags(orm));
  const router = new Router()
    .register('tags', Tags)
    .register('several', Several)
    .register('replaced', Replaced)
    .register('changed', Changed)
    .register('written', Written);
  const app = await testApp(t, orm, [router]);
  const payload = { name: 'new' };
  const schemaOf = (operationId: string) =>
    app.viewset.operations.find((plan) => plan.operationId === operationId)!.responses[200]!.schema;

  const propertiesOf = (operationId: string) =>
    (schemaOf(operationId) as unknown as { properties: Readonly<Record<string, Record<string, unknown>>> }).properties;

  t.test('an action with answers: "page" returns a page and is documented as one', async (t) => {
    t.strictSame((await app.inject('/tags/feed?limit=1')).json(), { count: 3, tags: [{ name: 'red' }] });
    // An action makes its pages itself, so documents promise no most number of records.
    const { tags, ...others } = propertiesOf('listTags');
    const { maxItems, ...unbounded } = tags!;
    t.equal(maxItems, 100);
    t.strictSame(propertiesOf('feedTags'), { ...others, tags: unbounded });
  });

  t.test('an action with answers: "record" returns the record in the envelope', async (t) => {
    const answer = await app.inject({ method: 'POST', url: '/tags/101/favorite' });
    t.strictSame(answer.json(), { tag: { id: 101, name: 'red' } });
    t.strictSame(schemaOf('favoriteTag'), schemaOf('retrieveTag'));
  });

  t.test('another 2xx status of such an action uses the schema that it declares', async (t) => {
    const send = (url: string) => app.inject({ method: 'POST', url });
    t.strictSame((await send('/tags/101/queue')).json(), { tag: { id: 101, name: 'red' } });
    t.match(await send('/several/101/queue'), { statusCode: 200, body: '{"id":101,"name":"red"}' });
    for (const url of ['/tags/101/queue?later=true', '/several/101/queue?later=true']) {
      t.match(await send(url), { statusCode: 202, body: '{"job":7}' }, url);
    }
  });

  t.test('a view without PATCH, and one without PUT', async (t) => {
    const allowed = async (method: 'PUT' | 'PATCH', url: string, body: object = payload) => {
      const { statusCode, headers } = await app.inject({ method, url, payload: body });
      return [statusCode, headers.allow];
    };
    t.strictSame(await allowed('PUT', '/replaced/101'), [200, undefined]);
    t.strictSame(await allowed('PATCH', '/replaced/101'), [405, 'GET, HEAD, PUT, DELETE, OPTIONS']);
    t.strictSame(await allowed('PATCH', '/changed/101'), [200, undefined]);
    t.strictSame(await allowed('PUT', '/changed/101'), [405, 'GET, HEAD, PATCH, DELETE, OPTIONS']);
    t.strictSame(await allowed('PATCH', '/changed', [{ id: 101, name: 'a' }]), [200, undefined]);
    t.equal((await allowed('PATCH', '/replaced', [{ id: 101, name: 'a' }]))[0], 405, 'several are changed by PATCH');
    const ids = app.viewset.operations.map(({ operationId }) => operationId);
    t.ok(ids.includes('replaceReplaced') && !ids.includes('updateReplaced'), ids.join(' '));
  });

  t.test('a new record has a Location only if the view has a retrieve route', async (t) => {
    const answer = await app.inject({ method: 'POST', url: '/written', payload });
    t.match(answer, { statusCode: 201, headers: { location: undefined } });
    const { headers } = await app.inject({ method: 'POST', url: '/changed', payload: { name: 'other' } });
    t.match(headers.location, /^\/changed\/\d+$/);
  });
});

forEachDatabase(t, { entities: SHELVES, only: ['sqlite'] }, async (t, orm) => {
  t.test('a view without an entity declares the responses of its operations', async (t) => {
    class Words extends ViewSet {
      override responses = { list: Type.Object({ words: Type.Array(Type.String()) }), create: JOB };
      override list() {
        return { words: ['ash'], secret: 1 };
      }
      override create(_request: FastifyRequest, reply: FastifyReply) {
        reply.code(201);
        return { job: 7, secret: 1 };
      }
    }
    const app = await testApp(t, orm, [new Router().register('words', Words)]);
    t.equal((await app.inject('/words')).body, '{"words":["ash"]}');
    t.equal((await app.inject({ method: 'POST', url: '/words' })).body, '{"job":7}');
    const [list, create] = app.viewset.operations;
    t.match(list?.responses[200]?.schema, new Words().responses.list);
    t.match(create?.responses[201]?.schema, JOB);
    class Records extends ModelViewSet(Tag, options) {
      override responses = { list: JOB };
    }
    t.equal(
      await errorAtStart(t, orm, Records),
      'Records: nothing reads "responses"; the options "read" and "envelope" say what is sent',
    );
  });

  t.test('invalid declarations fail at start', async (t) => {
    class Plain extends ViewSet {
      feed = action({ answers: 'page' }, () => ({}));
    }
    class Whole extends ModelViewSet(Tag, { ...options, pagination: null }) {
      feed = action({ answers: 'page' }, () => ({}));
    }
    t.match(await errorAtStart(t, orm, Plain), 'Plain.feed: option "answers" needs a view of an entity');
    t.match(
      await errorAtStart(t, orm, Whole),
      'Whole.feed: option "answers" is "page", but the view has no pagination',
    );
    const wrong = { answers: 'page', response: options.read.default.schema } as const;
    t.throws(() => action(wrong, () => ({}) as never), { message: /"answers" says what 200 answers/ });
    t.throws(() => ModelViewSet(Tag, { ...options, updateMethods: ['POST' as never] }), {
      message: /a list of PUT, PATCH/,
    });
  });
});
