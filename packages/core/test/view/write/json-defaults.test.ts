/** The default of a JSON column is declared as text, and stored as JSON. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { many, ModelViewSet, nested, readShape, Router, type WriteData, writeShape } from '../../../src/index.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { testApp } from '../../support/library.ts';

const LookSchema = defineEntity({
  name: 'Look',
  embeddable: true,
  properties: { title: p.string(), colors: p.json<unknown>().default('["red"]') },
});
class Look extends LookSchema.class {}
LookSchema.setClass(Look);
const PageSchema = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    settings: p.json<unknown>().default('{}'),
    list: p.json<unknown>().default('[1,"a"]'),
    text: p.json<unknown>().default('"x"'),
    none: p.json<unknown>().nullable(),
    look: () => p.embedded(Look).nullable(),
    notes: () => p.oneToMany(Note).mappedBy('page'),
  },
});
class Page extends PageSchema.class {}
PageSchema.setClass(Page);
const NoteSchema = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    name: p.string(),
    data: p.json<unknown>().default('{"a":null}'),
    page: () => p.manyToOne(Page),
  },
});
class Note extends NoteSchema.class {}
NoteSchema.setClass(Note);

const read = readShape(Page, ['id', 'name', 'settings', 'list', 'text', 'none', 'look'], { notes: many('notes.data') });
const write = writeShape(
  Page,
  ['name', 'settings', 'look'],
  { notes: nested(writeShape(Note, ['name']), { update: true }) },
  { optional: ['settings'] },
);
class PageViewSet extends ModelViewSet(Page, { read, write, bulk: 10 }) {}
class PlainViewSet extends ModelViewSet(Page, { read, write: writeShape(Page, ['name']), bulk: 10 }) {}
class HookedViewSet extends ModelViewSet(Page, { read, write }) {
  override performCreate(request: FastifyRequest, data: WriteData<Page, { name: string }>) {
    return super.performCreate(request, { ...data, name: `${data.name}!` } as never);
  }
}

forEachDatabase(t, { entities: [Page, Note, Look] }, async (t, orm) => {
  const router = new Router()
    .register('pages', PageViewSet)
    .register('plain', PlainViewSet)
    .register('hooked', HookedViewSet);
  const app = await testApp(t, orm, [router]);
  const send = async (method: 'PATCH' | 'POST', url: string, payload: object) =>
    (await app.inject({ method, url, payload })).json();
  const defaults = { settings: {}, list: [1, 'a'], text: 'x', none: null };

  for (const path of ['/pages', '/plain', '/hooked']) {
    t.match(await send('POST', path, { name: 'a' }), defaults, path);
  }
  for (const path of ['/pages', '/plain']) {
    t.match(await send('POST', path, [{ name: 'a' }, { name: 'b' }]), [defaults, defaults]);
  }
  const sent = { name: 'a', settings: '{}', look: { title: 'x' }, notes: [{ name: 'n' }] };
  const made = await send('POST', '/pages', sent);
  t.match(made, { settings: '{}', look: { title: 'x', colors: ['red'] }, notes: [{ a: null }] });
  const { id } = await send('POST', '/pages', { name: 'b' });
  const changed = await send('PATCH', `/pages/${id}`, { look: { title: 'y' }, notes: [{ name: 'n' }] });
  t.match(changed, { look: { title: 'y', colors: ['red'] }, notes: [{ a: null }] });
});
