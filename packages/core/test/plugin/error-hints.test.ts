/** A mistake of the programmer is told with what to do about it. */
import { defineEntity, p } from '@mikro-orm/core';
import { fastify } from 'fastify';
import t from 'tap';
import {
  action,
  many,
  ModelViewSet,
  readShape,
  type RecordRequest,
  refs,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '../../src/index.ts';
import { forEachDatabase, SQL_DATABASES } from '../support/databases.ts';

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary(), name: p.string() } });
const Post = defineEntity({
  name: 'Post',
  properties: { id: p.integer().primary(), title: p.string(), tags: () => p.manyToMany(Tag) },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), post: () => p.manyToOne(Post) },
});
const ENTITIES = [Tag, Post];
const read = readShape(Post, ['id', 'title']);

t.test('a relation to many among the fields of readShape() names many(), which shows it', async (t) => {
  t.throws(() => readShape(Post, ['tags'] as never), { message: /^Post\.tags leads to many.*\{ tags: many\(…\) \}/ });
  t.doesNotThrow(() => readShape(Post, ['id'], { tags: many(readShape(Tag, ['id'])) }));
  t.throws(() => readShape(Note, ['id'], { tags: 'post.tags.name' } as never), {
    message: /^Note\.post\.tags\.name leads to many.*: \{ post: readShape\(Post, \[\], \{ tags: many\(…\) \}\) \}$/,
  });
  t.doesNotThrow(() => readShape(Note, ['id'], { post: readShape(Post, [], { tags: many('tags.name') }) }));
});

t.test('refs() by a property that is not unique names the ways to one that is', async (t) => {
  t.throws(() => writeShape(Post, ['title'], { tags: refs('tags.name') }), {
    message: /Tag\.name is not unique.*make the property unique\(\), or refer by its primary key/,
  });
});

t.test('a router in the place of its plugin names the plugin', async (t) => {
  const app = fastify();
  t.teardown(() => app.close());
  await t.rejects(async () => app.register(new Router() as never), {
    name: 'ImproperlyConfigured',
    message: /await app\.register\(router\.plugin\)/,
  });
});

t.test('a list in the place of names by parameter shows an object', async (t) => {
  for (const option of ['filterFields', 'orderingFields']) {
    t.throws(() => ModelViewSet(Post, { read, [option]: ['title'] }), {
      message: new RegExp(`"${option}" must be an object of .* such as \\{ title: 'title' \\}, got an array of 1`),
    });
  }
});

t.test('an action with an empty path fails with the allowed paths', async (t) => {
  t.throws(() => action({ urlPath: '' as never }, () => ({})), {
    message: /"urlPath" must be a path that is not empty.*left out.*list, create/,
  });
});

forEachDatabase(t, { entities: ENTITIES, only: SQL_DATABASES }, async (t, orm) => {
  class PostViewSet extends ModelViewSet(Post, { read }) {
    first = action({}, async (request) => {
      await this.getObject(request as RecordRequest);
      return {};
    });
  }
  const logged: string[] = [];
  const stream = { write: (line: string) => void logged.push(line) };
  const app = fastify({ ...serverOptions(), logger: { stream } });
  t.teardown(() => app.close());
  await app.register(viewset, { orm });
  await app.register(new Router().register('posts', PostViewSet).plugin);

  t.test('getObject in an action of the collection names detail: true', async (t) => {
    logged.length = 0;
    t.equal((await app.inject('/posts/first')).statusCode, 500);
    t.match(logged.join(''), /PostViewSet\.first: the path names no record.*\{ detail: true \}/);
  });

  t.test('the log of a missing table names how to create it', async (t) => {
    await orm.schema.drop();
    for (const url of ['/posts', '/posts/1']) {
      logged.length = 0;
      t.equal((await app.inject(url)).statusCode, 500);
      t.match(logged.join(''), /A table is missing.*orm\.schema\.create\(\).*migrations/);
    }
  });
});
