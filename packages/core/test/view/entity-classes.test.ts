import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { action, type InputOf, ModelViewSet, readShape, Router, type WriteData, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const ShelfSchema = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
class Shelf extends ShelfSchema.class {}
ShelfSchema.setClass(Shelf);

const JarSchema = defineEntity({
  name: 'Jar',
  properties: {
    id: p.integer().primary(),
    label: p.string().length(50),
    grams: p.integer().default(0),
    shelf: () => p.manyToOne(Shelf),
  },
});
class Jar extends JarSchema.class {
  get title() {
    return `${this.label}, ${this.grams} g`;
  }
}
JarSchema.setClass(Jar);

const write = writeShape(Jar, ['label', 'grams'], { shelf: 'shelf.name' });

class ShelfViewSet extends ModelViewSet(Shelf, {
  read: readShape(Shelf, ['id', 'name']),
  write: writeShape(Shelf, ['name']),
}) {
  ways = action({}, () => Object.values(this.explain()).map(({ oneStatement }) => oneStatement));
}
class JarViewSet extends ModelViewSet(Jar, {
  read: readShape(Jar, ['id', 'label'], { shelf: readShape(Shelf, ['name']) }),
  write,
  filterFields: { shelf: 'shelf__name' },
}) {
  override performCreate(request: FastifyRequest, data: WriteData<Jar, InputOf<typeof write>>) {
    return super.performCreate(request, { ...data, label: data.label.trim() });
  }

  override represent(jar: Jar) {
    return { ...super.represent(jar), label: jar.title };
  }
}

forEachDatabase(t, { entities: [Shelf, Jar] }, async (t, orm, database) => {
  t.test(
    'an entity may be a class: its records have its methods, and an empty one is written by one statement',
    async (t) => {
      const app = await testApp(t, orm, [new Router().register('shelves', ShelfViewSet).register('jars', JarViewSet)]);
      // MongoDB looks for the jars of a shelf that is deleted.
      t.strictSame((await app.inject('/shelves/ways')).json(), [true, true, database !== 'mongodb']);
      t.strictSame(
        (await app.inject({ method: 'POST', url: '/shelves', payload: { name: 'Top' } })).json().name,
        'Top',
      );
      const made = await app.inject({
        method: 'POST',
        url: '/jars',
        payload: { label: ' Plum ', grams: 250, shelf: 'Top' },
      });
      t.equal(made.statusCode, 201, made.body);
      const jar = { id: 1, label: 'Plum, 250 g', shelf: { name: 'Top' } };
      t.strictSame(made.json(), jar);
      t.strictSame((await app.inject('/jars?shelf=Top')).json().results, [jar]);
    },
  );
});
