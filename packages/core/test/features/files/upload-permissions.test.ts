/** Who may ask for an upload, and who may name one. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import t from 'tap';
import {
  AllowAny,
  file,
  FileType,
  getCurrentUser,
  IPRateLimit,
  IsAuthenticated,
  IsOwner,
  ModelViewSet,
  Permission,
  type PermissionView,
  readShape,
  Router,
  writeShape,
} from '../../../src/index.ts';
import { FieldValueError } from '../../../src/fields/field-value-error.ts';
import { Bucket, PNG } from '../../support/bucket.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const Album = defineEntity({
  name: 'Album',
  properties: { id: p.integer().primary(), title: p.string().length(50) },
});
const Photo = defineEntity({
  name: 'Photo',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(50),
    owner: p.integer().nullable(),
    image: p.type(FileType).nullable(),
    album: () => p.manyToOne(Album).nullable(),
    deleted_at: p.datetime().nullable(),
  },
});

const bucket = new Bucket();
const read = readShape(Photo, ['id', 'title', 'image']);
const image = file({ store: bucket, maxBytes: 1000, types: ['image/*'], direct: true });
const write = writeShape(Photo, ['title'], { image });
const shapes = { read, write } as const;
const SECRET = 'a secret of at least 32 bytes for tests';
const nameOf = (request: FastifyRequest): string | undefined => getCurrentUser(request)?.role?.name;

/** The operations that are refused, and how. */
let refusing: (request: FastifyRequest, view: PermissionView) => boolean = () => false;
class Asked extends Permission {
  override hasPermission(request: FastifyRequest, view: PermissionView): boolean {
    return !refusing(request, view);
  }
}
class IsMine extends Permission {
  override hasObjectPermission(request: FastifyRequest, _view: PermissionView, photo: object): boolean {
    return (photo as { owner: number | null }).owner === getCurrentUser(request)?.id;
  }
}

class OpenViewSet extends ModelViewSet(Photo, { ...shapes, permissionClasses: [AllowAny] }) {}
class CheckedViewSet extends ModelViewSet(Photo, { ...shapes, permissionClasses: [Asked], allowAnonymous: true }) {}
class MineViewSet extends ModelViewSet(Photo, { ...shapes, permissionClasses: [IsMine], allowAnonymous: true }) {}
class OwnedViewSet extends ModelViewSet(Photo, {
  ...shapes,
  permissionClasses: [IsAuthenticated, IsOwner('owner', { scope: true })],
}) {}
class LimitedViewSet extends ModelViewSet(Photo, {
  ...shapes,
  throttles: [new IPRateLimit(2, 3600)],
  allowAnonymous: true,
}) {}
class ByRoleViewSet extends ModelViewSet(Photo, {
  read,
  write: { default: writeShape(Photo, ['title']), editor: write },
  allowAnonymous: true,
}) {
  override writeShapeFor(request: FastifyRequest) {
    if (nameOf(request) === 'broken') throw new FieldValueError('a value that the view has made');
    return nameOf(request) === 'editor' ? 'editor' : undefined;
  }
}
class BinViewSet extends ModelViewSet(Photo, {
  ...shapes,
  softDelete: { property: 'deleted_at', visibleTo: [AllowAny] },
  allowAnonymous: true,
}) {}
class AlbumViewSet extends ModelViewSet(Album, { read: readShape(Album, ['id', 'title']), allowAnonymous: true }) {}

const router = (): Router =>
  new Router()
    .register('open', OpenViewSet)
    .register('asked', CheckedViewSet)
    .register('mine', MineViewSet)
    .register('owned', OwnedViewSet)
    .register('limited', LimitedViewSet)
    .register('roles', ByRoleViewSet)
    .register('bin', BinViewSet)
    .register('albums', AlbumViewSet)
    .register('albums/:album/photos', class InAlbumViewSet extends CheckedViewSet {});

forEachDatabase(t, { entities: [Photo, Album] }, async (t, orm) => {
  let app: FastifyInstance;
  t.beforeEach(async (t) => {
    await orm.schema.refresh();
    bucket.clear();
    refusing = () => false;
    app = await testApp(t, orm, [router()], { options: { secret: SECRET } });
  });
  const send = (method: 'POST' | 'PATCH' | 'GET' | 'OPTIONS' | 'DELETE', url: string, payload?: object, as?: string) =>
    app.inject({ method, url, headers: as === undefined ? {} : { 'x-user': as }, ...(payload && { payload }) });
  const ask = (view: string, as?: string) =>
    send('POST', `/${view}/uploads`, { name: 'a.png', size: PNG.length, type: 'image/png' }, as);
  const uploaded = async (view: string, as?: string): Promise<{ upload: string }> => {
    const answer = await ask(view, as);
    if (answer.statusCode !== 201) throw new Error(answer.body);
    const { upload, url } = answer.json<{ upload: string; url: string }>();
    bucket.receive(url);
    return { upload };
  };
  const operationsAt = async (view: string, as?: string): Promise<string[]> => {
    const { headers } = await send('OPTIONS', `/${view}`, undefined, as);
    return String(headers['permitted-operations'])
      .split(', ')
      .filter((id) => id.startsWith('upload'));
  };

  await t.test('an operation that needs a token refuses requests without one', async (t) => {
    const needing = await testApp(t, orm, [router()], {
      options: { secret: SECRET },
      before: (made) => {
        made.addHook('onRoute', (route) => {
          const action = route.config?.viewset?.action;
          if (action !== 'create' && action !== 'update') return;
          route.config = { ...route.config, needsToken: true, needsTokenAt: () => true };
        });
      },
    });
    const asked = (headers: Record<string, string>) => {
      const payload = { name: 'a.png', size: 1, type: '' };
      return needing.inject({ method: 'POST', url: '/open/uploads', headers, payload });
    };
    t.equal((await asked({})).statusCode, 401);
    t.equal((await asked({ 'x-user': 'ann' })).statusCode, 201);
  });

  await t.test('a value of the application that does not fit its field is a 500, not a refusal', async (t) => {
    refusing = (request, view) => {
      if (view.getAction(request) === 'create') throw new FieldValueError('a value that the permission has made');
      return view.getAction(request) === 'update';
    };
    t.equal((await ask('asked')).statusCode, 500);
    t.equal((await ask('roles', 'broken')).statusCode, 500);
  });

  await t.test('OPTIONS lists the request for an upload to those who may write a file', async (t) => {
    t.strictSame(await operationsAt('asked'), ['uploadAsked']);
    refusing = (request, view) => view.getAction(request) === 'create';
    t.strictSame(await operationsAt('asked'), ['uploadAsked'], 'they may update');
    refusing = (request, view) => ['create', 'update'].includes(view.getAction(request));
    t.strictSame(await operationsAt('asked'), []);
    t.equal((await ask('asked')).statusCode, 401);
    t.equal((await ask('asked', 'ann')).statusCode, 403);
    refusing = (request, view) => view.getAction(request) === 'upload';
    t.strictSame(await operationsAt('asked'), []);
    t.equal((await ask('asked', 'ann')).statusCode, 403);
    t.strictSame(await operationsAt('roles', 'editor'), ['uploadRoles']);
    t.strictSame(await operationsAt('roles', 'reader'), []);
    t.equal((await ask('roles', 'reader')).statusCode, 403);
  });

  await t.test('a permission that looks at the parent of a nested view knows it', async (t) => {
    await send('POST', '/open', { title: 'x' });
    const em = orm.em.fork();
    em.create(Album, { title: 'one' });
    em.create(Album, { title: 'two' });
    await em.flush();
    const [first, second] = await em.find(Album, {}, { orderBy: { title: 'asc' } });
    refusing = ({ params, method }) => method !== 'GET' && (params as { album?: string }).album === String(second!.id);
    t.equal((await ask(`albums/${first!.id}/photos`, 'ann')).statusCode, 201);
    t.equal((await ask(`albums/${second!.id}/photos`, 'ann')).statusCode, 403);
    t.equal((await ask('albums/99/photos', 'ann')).statusCode, 404);
  });

  await t.test('a shape chosen by role does not accept fields that it does not have', async (t) => {
    const named = await uploaded('roles', 'editor');
    const asReader = await send('POST', '/roles', { title: 'x', image: named }, 'reader');
    t.match([asReader.statusCode, asReader.json()], [201, { image: null }], 'it is an unknown property');
    t.equal(bucket.files.size, 0);
    t.equal((await send('POST', '/roles', { title: 'x', image: named }, 'editor')).statusCode, 201);
  });

  await t.test("a user cannot replace the file of another user's record", async (t) => {
    const { id } = (await send('POST', '/owned', { title: 'x', image: await uploaded('owned', 'ann') }, 'ann')).json<{
      id: number;
    }>();
    const kept = [...bucket.files.keys()];
    const named = await uploaded('owned', 'carla');
    t.equal((await send('PATCH', `/owned/${id}`, { image: named }, 'carla')).statusCode, 404);
    const mine = await uploaded('mine', 'carla');
    t.equal((await send('PATCH', `/mine/${id}`, { image: mine }, 'carla')).statusCode, 403);
    t.strictSame([...bucket.files.keys()], kept);
    t.equal(
      (await send('POST', '/owned', { title: 'y', image: named }, 'carla')).statusCode,
      201,
      'the upload is left',
    );
  });

  await t.test('the throttles of the view count each request for an upload once', async (t) => {
    const statuses = [await ask('limited'), await ask('limited'), await ask('limited')].map((each) => each.statusCode);
    t.strictSame(statuses, [201, 201, 429]);
  });

  await t.test('a deleted record takes no upload, and has its file when it is restored', async (t) => {
    const made = (await send('POST', '/bin', { title: 'x', image: await uploaded('bin') })).json<{ id: number }>();
    const named = await uploaded('bin');
    t.equal((await send('DELETE', `/bin/${made.id}`)).statusCode, 204);
    t.equal((await send('PATCH', `/bin/${made.id}`, { image: named })).statusCode, 404);
    t.equal(bucket.files.size, 1);
    const restored = await send('POST', `/bin/${made.id}/restore`, undefined, 'ann');
    t.equal(restored.statusCode, 200, restored.body);
    const { image: link } = restored.json<{ image: { url: string } }>();
    t.strictSame((await send('GET', link.url)).rawPayload, PNG);
    t.equal((await send('PATCH', `/bin/${made.id}`, { image: named })).statusCode, 200);
    t.equal(bucket.files.size, 1);
  });
});
