import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { removeEntity } from '../../src/mikro/remove-entity.ts';
import { forEachDatabase } from '../support/databases.ts';

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary(), posts: () => p.manyToMany(Post).mappedBy('tags') },
});
const Post = defineEntity({
  name: 'Post',
  properties: { id: p.integer().primary(), tags: () => p.manyToMany(Tag).inversedBy('posts') },
});

forEachDatabase(t, { entities: [Tag, Post] }, async (t, orm) => {
  t.test('removes an entity without loading the many-to-many relations that refer to it', async (t) => {
    const made = orm.em.fork();
    made.create(Post, { id: 1, tags: [made.create(Tag, { id: 1 }), made.create(Tag, { id: 2 })] });
    await made.flush();
    const em = orm.em.fork();
    removeEntity(em, await em.findOneOrFail(Tag, 1));
    await em.flush();
    t.strictSame(
      (await orm.em.fork().find(Tag, {})).map(({ id }) => id),
      [2],
    );
  });
});
