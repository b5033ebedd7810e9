/** The lookup `isempty`: the empty text, which NULL is not. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { QuerySet } from '../../src/index.ts';
import { parseLookupText, resolveLookup } from '../../src/query/language/resolve-lookup.ts';
import { idOnly } from '../filters/catalog.ts';
import { forEachDatabase } from '../support/databases.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    text: p.string().nullable(),
    parent: () => p.manyToOne(Note).nullable(),
    answers: () => p.oneToMany(Note).mappedBy('parent'),
  },
});

forEachDatabase(t, { entities: [Note] }, async (t, orm) => {
  const rows = [
    { id: 1, text: '' },
    { id: 2, text: null, parent: 1 },
    { id: 3, text: ' ', parent: 1 },
    { id: 4, text: 'a', parent: 2 },
    { id: 5, text: '', parent: 2 },
  ];
  for (const row of rows) await orm.em.fork().insert(Note, row);
  const meta = orm.getMetadata().get(Note);
  const ids = async (name: string, text: string) => {
    const some = QuerySet.of(orm.em.fork(), Note).where(parseLookupText(resolveLookup(meta, name), text));
    return some.rows(idOnly(some));
  };
  t.same(await ids('text__isempty', 'true'), [1, 5]);
  t.same(await ids('text__isempty', 'false'), [2, 3, 4]);
  t.same(await ids('parent__text__isempty', 'true'), [2, 3]);
  t.same(await ids('answers__text__isempty', 'true'), [2], 'a related record has it');
  t.same(await ids('answers__text__isempty', 'false'), [1, 3, 4, 5]);
  t.throws(() => parseLookupText(resolveLookup(meta, 'text__isempty'), 'yes'), { name: 'FieldValueError' });
  t.throws(() => resolveLookup(meta, 'id__isempty'), /which has no "isempty"/);
});
