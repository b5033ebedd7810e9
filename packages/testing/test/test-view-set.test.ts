import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import {
  action,
  computed,
  InvalidUsage,
  IsOwner,
  ModelViewSet,
  PageNumberPagination,
  type Projection,
  QueryParameters,
  type QuerySet,
  type RecordRequest,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import fastify, { type FastifyRequest } from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { missingServer, TEST_DATABASES, testApp, type TestDatabase, testViewSet } from '../src/index.ts';
import { Author, BookViewSet, createApp, ENTITIES } from './support/library.ts';

const NoteSchema = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    version: p.integer().version(),
    owner: p.integer(),
    title: p.string().length(20).unique(),
    text: p.string().length(200).nullable(),
    kind: p.enum(['idea', 'task'] as const).default('idea'),
    stars: p.integer().default(0),
    due: p.date().nullable(),
    is_done: p.boolean().default(false),
    secret: p.string().length(40).hidden().default('never-to-be-seen'),
    author: () => p.manyToOne(Author).nullable(),
  },
});
class Note extends NoteSchema.class {}
NoteSchema.setClass(Note);

const read = readShape(Note, ['id', 'title', 'text', 'kind', 'stars', 'due', 'is_done'], { author: 'author.name' });
const write = writeShape(Note, ['title', 'text', 'kind', 'due', 'is_done'], {
  author: 'author.name',
  stars: Type.Optional(Type.Integer({ minimum: 0, maximum: 5 })),
});
const options = {
  read,
  write,
  requireIfMatch: true,
  filterFields: {
    kind: 'kind',
    min_stars: 'stars__gte',
    due: 'due__range',
    done: 'is_done',
    title_has: 'title__icontains',
    author: 'author__name',
    ids: 'id__in',
    undated: 'due__isnull',
  },
  orderingFields: { title: 'title', stars: 'stars', due: 'due', author: 'author__name' },
  searchFields: ['title', '^text'],
  pageSize: 5,
  maxPageSize: 20,
  permissionClasses: [IsOwner('owner', { scope: true })],
} as const;

/** Pages whose size nothing limits. */
class Endless extends PageNumberPagination {
  protected override readSize(parameters: QueryParameters, parameter: string) {
    return Number(parameters.one(parameter) ?? this.sizes.pageSize);
  }
}

/** Pages that all begin at the first record. */
class Overlapping extends PageNumberPagination {
  override paginate<E extends object, R>(
    queryset: QuerySet<E>,
    projection: Projection<R>,
    parameters: QueryParameters,
  ) {
    return super.paginate(queryset, projection, new QueryParameters({ page_size: parameters.one('page_size') ?? '5' }));
  }
}

class Notes extends ModelViewSet(Note, options) {
  star = action(
    {
      detail: true,
      methods: ['post'],
      body: Type.Object({ by: Type.Integer({ minimum: 1, maximum: 2 }) }),
      response: read.schema,
    },
    async (request) => {
      const note = await this.getObject(request);
      note.stars += request.body.by;
      await request.em.flush();
      return this.represent(note);
    },
  );
}

class NoteViewSet extends Notes {}

/** Runs the suite of a view, or one case of it, and names the cases that fail. */
async function failures(
  View: new () => Notes,
  { database = 'sqlite', only }: { readonly database?: TestDatabase; readonly only?: string },
): Promise<string[]> {
  const build = async (orm: MikroORM) => {
    const app = fastify(serverOptions());
    await app.register(viewset, { orm });
    await app.register(new Router({ prefix: 'api' }).register('notes', View as never).plugin);
    return app;
  };
  const cases = await testViewSet(View, {
    app: () => testApp(build, { entities: [...ENTITIES, Note], database }),
    user: () => ({ id: 7 }),
    stranger: () => ({ id: 8 }),
  });
  const failed: string[] = [];
  for (const { name, run } of cases) {
    if (only === undefined || name.endsWith(`: ${only}`)) await run().catch(() => failed.push(name));
  }
  return failed;
}

for (const database of TEST_DATABASES) {
  t.test(`a view that keeps its promises passes, on ${database}`, { skip: missingServer(database) }, async (t) => {
    t.same(await failures(NoteViewSet, { database }), []);
  });
}

t.test('a runner gets the cases', async (t) => {
  const cases = await testViewSet(BookViewSet, {
    test: (name, run) => t.test(name, run),
    app: () => testApp(createApp, { entities: ENTITIES, database: 'sqlite' }),
    user: () => ({ id: 1 }),
    skip: ['list: no page is longer than allowed'],
  });
  t.ok(cases.length > 20);
  t.ok(cases.every(({ name }) => name.startsWith('BookViewSet: ')));
});

/** Views with one mistake each, and the case that finds it. */
const FAULTS: readonly (readonly [found: string, View: new () => Notes])[] = [
  [
    'list: kind filters',
    class NoteViewSet extends Notes {
      override filterQueryset(_request: FastifyRequest, queryset: QuerySet<Note>) {
        return queryset;
      }
    },
  ],
  [
    'create stores what is sent',
    class NoteViewSet extends Notes {
      override performCreate(request: FastifyRequest, data: never) {
        return super.performCreate(request, { ...(data as object), due: null } as never);
      }
    },
  ],
  [
    'PATCH changes only what is sent',
    class NoteViewSet extends Notes {
      override performUpdate(request: FastifyRequest, note: Note, data: object) {
        return super.performUpdate(request, note, Object.assign({ text: null }, data));
      }
    },
  ],
  [
    'star keeps a stranger out',
    class NoteViewSet extends Notes {
      override async getObject(request: RecordRequest) {
        return request.em.findOneOrFail(Note, { id: Number((request.params as { pk: string }).pk) });
      }
    },
  ],
  [
    'list hides records from a stranger',
    class NoteViewSet extends ModelViewSet(Note, { ...options, permissionClasses: [IsOwner('owner')] }) {
      star = action({ detail: true, methods: ['post'] }, async () => ({}));
    } as never,
  ],
  [
    'no answer has a hidden value',
    class NoteViewSet extends ModelViewSet(Note, {
      ...options,
      read: read.extend([], { hint: computed(Type.String(), ['secret'], ({ secret }) => `It is ${secret}`) }),
    }) {} as never,
  ],
  [
    'list: no page is longer than allowed',
    class NoteViewSet extends ModelViewSet(Note, { ...options, pagination: Endless }) {} as never,
  ],
  [
    'list: pages have each record once',
    class NoteViewSet extends ModelViewSet(Note, { ...options, pagination: Overlapping }) {} as never,
  ],
  [
    'create keeps the bounds of its fields',
    class NoteViewSet extends Notes {
      override performCreate(request: FastifyRequest, data: never) {
        if (String(data['text']).length > 100) throw new InvalidUsage('Too long');
        return super.performCreate(request, data);
      }
    },
  ],
  [
    'star answers as its document says',
    class NoteViewSet extends ModelViewSet(Note, options) {
      star = action({ detail: true, methods: ['post'] }, async (_request, reply) => reply.code(418).send());
    } as never,
  ],
  [
    'destroy removes the record',
    class NoteViewSet extends Notes {
      override async performDestroy() {}
    },
  ],
  [
    'list: sort=stars orders',
    class NoteViewSet extends Notes {
      override async filterQueryset(request: FastifyRequest, queryset: QuerySet<Note>) {
        return (await super.filterQueryset(request, queryset)).orderBy('id');
      }
    },
  ],
];

for (const [found, View] of FAULTS) {
  t.test(`finds a mistake: ${found}`, async (t) => {
    t.same(await failures(View, { only: found }), [`NoteViewSet: ${found}`]);
  });
}

t.test('a view that is nowhere, and a case that is not there, are named', async (t) => {
  const app = () => testApp(createApp, { entities: ENTITIES, database: 'sqlite' });
  await t.rejects(testViewSet(NoteViewSet, { app }), {
    message: 'NoteViewSet is registered at no router of the application',
  });
  await t.rejects(testViewSet(BookViewSet, { app, skip: ['nothing'] }), { message: /has no case "nothing" to skip/ });
});
