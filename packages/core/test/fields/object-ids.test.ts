/** Keys that MongoDB makes: ObjectIds, which are texts of 24 hexadecimal digits on the wire. */
import type { InferEntity } from '@mikro-orm/core';
import type { FastifyRequest, InjectOptions } from 'fastify';
import t from 'tap';
import { CursorPagination, getCurrentUser, ModelViewSet, type OutputOf, Permission, Router } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';
import { Authors, Note, noteOptions, NOTES, Notes, notesRouter, Tags } from '../support/notes.ts';

class PagedNotes extends ModelViewSet(Note, { ...noteOptions, pagination: CursorPagination, pageSize: 2 }) {}
/** Shows everybody the notes of the author that the user is. */
class IsAuthor extends Permission {
  override scope(request: FastifyRequest, view: Parameters<Permission['scope']>[1]) {
    const author = String(getCurrentUser(request)?.id);
    return this.records<InferEntity<typeof Note>>(view, { author });
  }
}
class UserNotes extends ModelViewSet(Note, { ...noteOptions, permissionClasses: [IsAuthor], etags: true }) {}
class RepresentedNotes extends ModelViewSet(Note, noteOptions) {
  override represent(...args: Parameters<Notes['represent']>) {
    return super.represent(...args);
  }
}

const shown = { id: 'f'.repeat(24), text: '', author: null, tags: ['f'.repeat(24)] } satisfies OutputOf<
  typeof noteOptions.read
>;

const ID = /^[0-9a-f]{24}$/;

forEachDatabase(t, { entities: NOTES, only: ['mongodb'] }, async (t, orm) => {
  const router = new Router()
    .register('authors', Authors)
    .register('authors/:author/notes', Notes, { basename: 'inner' })
    .register('tags', Tags)
    .register('notes', Notes)
    .register('paged', PagedNotes)
    .register('represented', RepresentedNotes);
  const app = await testApp(t, orm, [router], { options: { secret: 'a secret of thirty-two bytes ...' } });
  const send = async (method: NonNullable<InjectOptions['method']>, url: string, payload?: object) => {
    const answer = await app.inject({ method, url, ...(payload && { payload }) });
    return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? undefined : answer.json() };
  };
  const ada = (await send('POST', '/authors', { name: 'Ada' })).body as { id: string };
  const tags = (await send('POST', '/tags', [{ name: 'red' }, { name: 'blue' }])).body as { id: string }[];
  const tagIds = tags.map(({ id }) => id);
  const absent = shown.id;
  const malformed = ['1', 'x'.repeat(24), absent.toUpperCase(), `${absent}0`, ` ${absent.slice(1)}`];

  for (const path of ['/notes', '/represented', '/paged']) {
    await t.test(`${path}: made, found, changed and deleted`, async (t) => {
      const made = await send('POST', path, { text: 'one', author: ada.id, tags: tagIds });
      t.equal(made.status, 201, JSON.stringify(made.body));
      t.match(made.body.id, ID);
      t.strictSame(made.body, { id: made.body.id, text: 'one', author: ada.id, tags: tagIds });
      t.equal(made.headers['location'], `${path}/${made.body.id}`);
      const url = String(made.headers['location']);
      t.strictSame((await send('GET', url)).body, made.body);
      t.strictSame((await send('GET', `/authors/${ada.id}`)).body.notes, [made.body.id]);
      const changed = await send('PATCH', url, { author: null, tags: [tagIds[1]] });
      t.strictSame(changed.body, { ...made.body, author: null, tags: [tagIds[1]] });
      t.equal((await send('DELETE', url)).status, 204);
      t.equal((await send('GET', url)).status, 404);
    });

    await t.test(`${path}: a malformed key returns 404 in a path, and 400 with its path elsewhere`, async (t) => {
      for (const key of [...malformed, absent]) {
        for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
          const answer = await send(method, `${path}/${encodeURIComponent(key)}`, method === 'PATCH' ? {} : undefined);
          t.equal(answer.status, 404, `${method} ${key} ${JSON.stringify(answer.body)}`);
        }
        for (const [payload, place] of [
          [{ text: 'x', author: key, tags: [] }, '/author'],
          [{ text: 'x', author: null, tags: [tagIds[0], key] }, '/tags/1'],
        ] as const) {
          const refused = await send('POST', path, payload);
          t.equal(refused.status, 400, JSON.stringify(refused.body));
          t.strictSame(
            refused.body.details.map(({ path: at }: { path: string }) => at),
            [place],
          );
        }
      }
      for (const key of malformed) {
        for (const name of ['id', 'ne', 'in', 'author', 'authors']) {
          const refused = await send('GET', `${path}?${name}=${encodeURIComponent(key)}`);
          t.equal(refused.status, 400, `${name}=${key} ${JSON.stringify(refused.body)}`);
          t.match(refused.body.details, [{ in: 'query', path: `/${name}` }]);
        }
        const filter = JSON.stringify({ '==': [{ var: 'author' }, key] });
        t.equal((await send('GET', `${path}?filter=${encodeURIComponent(filter)}`)).status, 400, filter);
      }
    });
  }

  await t.test('filters, JSON Logic, pages of a cursor, several records and nested routes', async (t) => {
    const payload = [1, 2, 3].map((n) => ({ text: `n${n}`, author: n === 3 ? null : ada.id, tags: [] }));
    const made = await send('POST', '/notes', payload);
    t.equal(made.status, 201, JSON.stringify(made.body));
    const [first, second, third] = made.body.map(({ id }: { id: string }) => id) as [string, string, string];
    const found = async (query: string) =>
      (await send('GET', `/notes?${query}`)).body.results.map(({ id }: { id: string }) => id);
    const logic = (filter: object) => found(`filter=${encodeURIComponent(JSON.stringify(filter))}`);
    t.strictSame(await found(`id=${second}`), [second]);
    t.strictSame(await found(`ne=${second}`), [first, third]);
    t.strictSame(await found(`in=${third},${first},${absent}`), [first, third]);
    t.strictSame(await found(`author=${ada.id}`), [first, second]);
    t.strictSame(await found(`authors=${ada.id},${absent}`), [first, second]);
    t.strictSame(await found('lone=true'), [third]);
    t.strictSame(await logic({ '==': [{ var: 'id' }, second] }), [second]);
    t.strictSame(await logic({ in: [{ var: 'author' }, [ada.id]] }), [first, second]);
    t.strictSame(await logic({ '!=': [{ var: 'author' }, null] }), [first, second]);
    const page = (await send('GET', '/paged')).body;
    t.strictSame(
      page.results.map(({ id }: { id: string }) => id),
      [first, second],
    );
    const next = (await send('GET', `/paged?cursor=${page.next_cursor}`)).body;
    t.strictSame(
      next.results.map(({ id }: { id: string }) => id),
      [third],
    );

    const patched = await send('PATCH', '/notes', [
      { id: third, text: 'x' },
      { id: first, text: 'y' },
    ]);
    t.strictSame(
      patched.body.map(({ id, text }: { id: string; text: string }) => [id, text]),
      [
        [third, 'x'],
        [first, 'y'],
      ],
    );
    t.equal((await send('PATCH', '/notes', [{ id: first }, { id: absent }])).status, 404);
    t.equal((await send('DELETE', `/notes?pk=${first},${absent}`)).status, 404);
    const inner = await send('POST', `/authors/${ada.id}/notes`, { text: 'in', tags: [] });
    t.equal(inner.status, 201, JSON.stringify(inner.body));
    t.equal(inner.body.author, ada.id);
    t.equal((await send('GET', `/authors/${ada.id}/notes`)).body.count, 3);
    for (const key of [...malformed, absent]) {
      t.equal((await send('GET', `/authors/${encodeURIComponent(key)}/notes`)).status, 404, key);
    }
    t.equal((await send('DELETE', `/authors/${ada.id}`)).status, 204, 'the references are nullable');
    t.strictSame(await found('lone=false'), []);
    t.equal((await send('DELETE', `/notes?pk=${first},${second},${third},${inner.body.id}`)).status, 204);
  });

  await t.test('tags, conditions and scopes', async (t) => {
    const ben = (await send('POST', '/authors', { name: 'Ben' })).body as { id: string };
    const router = new Router().register('own', UserNotes);
    const app = await testApp(t, orm, [router], {
      before: (made) => {
        made.addHook('onRequest', async (request) => {
          request.user = { id: ben.id, role: { name: 'author' } };
        });
      },
    });
    const ask = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, headers = {}) =>
      app.inject({ method, url, headers, ...(payload && { payload }) });
    const made = await ask('POST', '/own', { text: 'mine', author: ben.id, tags: tagIds });
    t.equal(made.statusCode, 201, made.body);
    const [url, tag] = [String(made.headers['location']), String(made.headers['etag'])];
    t.equal((await ask('GET', url)).headers['etag'], tag, 'the same of the record as it was made and as it is read');
    t.equal((await ask('GET', url, undefined, { 'if-none-match': tag })).statusCode, 304);
    const stale = await ask('PATCH', url, { text: 'x' }, { 'if-match': '"other"' });
    t.equal(stale.statusCode, 412);
    const changed = await ask('PATCH', url, { tags: [tagIds[0]] }, { 'if-match': tag });
    t.strictSame(changed.json(), { ...made.json(), tags: [tagIds[0]] });
    t.not(changed.headers['etag'], tag);
    const others = await send('POST', '/notes', { text: 'theirs', author: null, tags: [] });
    t.equal((await ask('GET', `/own/${others.body.id}`)).statusCode, 404);
    t.equal((await ask('GET', '/own')).json().count, 1);
    const given = await ask('PATCH', url, { author: null });
    t.equal(given.statusCode, 403, 'it would leave the scope');
    const last = String(changed.headers['etag']);
    t.equal((await ask('DELETE', url, undefined, { 'if-match': tag })).statusCode, 412);
    t.equal((await ask('DELETE', url, undefined, { 'if-match': last })).statusCode, 204);
  });

  await t.test('links of files contain the keys', async (t) => {
    const app = await testApp(t, orm, [notesRouter()]);
    const note = (await app.inject({ method: 'POST', url: '/api/notes', payload: { text: 'a', tags: [] } })).json();
    const headers = { 'content-type': 'multipart/form-data; boundary=f' };
    const part = 'content-disposition: form-data; name';
    const fileOf = (text: string) =>
      `--f\r\n${part}="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\n${text}\r\n--f--\r\n`;
    const nested = await app.inject({
      method: 'POST',
      url: `/api/notes/${note.id}/scans`,
      headers,
      payload: fileOf('hello'),
    });
    t.equal(nested.statusCode, 201, nested.body);
    const { id, file } = nested.json();
    t.equal(file.url, `/api/scans/${id}/file`);
    t.equal((await app.inject(file.url)).body, 'hello');
    t.equal((await app.inject(`/api/notes/${note.id}/scans/${id}/file`)).body, 'hello');
    const payload = `--f\r\n${part}="note"\r\n\r\n${note.id}\r\n${fileOf('bye')}`;
    const made = await app.inject({ method: 'POST', url: '/api/scans', headers, payload });
    t.equal(made.statusCode, 201, made.body);
    t.equal(made.json().note, note.id);
    t.equal((await app.inject(made.json().file.url)).body, 'bye');
    const wrong = payload.replace(note.id, 'x');
    const refused = await app.inject({ method: 'POST', url: '/api/scans', headers, payload: wrong });
    t.equal(refused.statusCode, 400);
    t.match(refused.json().details, [{ path: '/note' }]);
    t.equal((await app.inject(file.url.replace(id, shown.id))).statusCode, 404);
    t.equal((await app.inject({ method: 'DELETE', url: `/api/scans/${id}` })).statusCode, 204);
    t.equal((await app.inject(file.url)).statusCode, 404);
  });

  await t.test('a lookup that needs an order or a text is refused at the start', async (t) => {
    for (const lookup of ['gt', 'contains', 'range']) {
      class Wrong extends ModelViewSet(Note, { ...noteOptions, filterFields: { x: `id__${lookup}` as 'id' } }) {}
      await t.rejects(testApp(t, orm, [new Router().register('wrong', Wrong)]), {
        code: 'improperly_configured',
        message: new RegExp(`id__${lookup}`),
      });
    }
  });
});
