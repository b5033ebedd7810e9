import { defineEntity, p } from '@mikro-orm/core';
import { ObjectId } from '@mikro-orm/mongodb';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { file, type FileStore, FileType, many, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';

/** Records whose keys MongoDB makes: ObjectIds. */
export const Author = defineEntity({
  name: 'Author',
  properties: {
    id: p.type(ObjectId).primary(),
    name: p.string().length(20).unique(),
    notes: () => p.oneToMany(Note).mappedBy('author'),
  },
});
export const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.type(ObjectId).primary(), name: p.string().length(20) },
});
export const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.type(ObjectId).primary(),
    text: p.string().length(20),
    author: () => p.manyToOne(Author).nullable(),
    tags: () => p.manyToMany(Tag),
  },
});

/** Refers to a note, and has a file. */
export const Scan = defineEntity({
  name: 'Scan',
  properties: {
    id: p.type(ObjectId).primary(),
    note: () => p.manyToOne(Note),
    file: p.type(FileType),
    version: p.integer().version(),
  },
});

export const NOTES = [Author, Tag, Note, Scan];

export class Authors extends ModelViewSet(Author, {
  read: readShape(Author, ['id', 'name'], { notes: many('notes'), texts: many('notes.text') }),
  write: writeShape(Author, ['name']),
  allowAnonymous: true,
  searchFields: ['name'],
}) {}
export class Tags extends ModelViewSet(Tag, {
  read: readShape(Tag, ['id', 'name']),
  write: writeShape(Tag, ['name']),
  allowAnonymous: true,
  bulk: 5,
}) {}
export const noteOptions = {
  read: readShape(Note, ['id', 'text', 'author'], { tags: many('tags') }),
  write: writeShape(Note, ['text', 'author', 'tags']),
  allowAnonymous: true,
  filterFields: {
    id: 'id',
    ne: 'id__ne',
    in: 'id__in',
    author: 'author',
    authors: 'author__in',
    lone: 'author__isnull',
  },
  jsonLogicFields: ['id', 'author'],
  bulk: 5,
} as const;
/** Notes of authors, with tags. */
export class Notes extends ModelViewSet(Note, noteOptions) {}

const files = new Map<string, Buffer>();
const store: FileStore = {
  put: async (key, content) => void files.set(key, await buffer(content)),
  get: async (key) => Readable.from([files.get(key)!]),
  delete: async (key) => void files.delete(key),
};
export class Scans extends ModelViewSet(Scan, {
  read: readShape(Scan, ['id', 'note', 'file']),
  write: writeShape(Scan, ['note'], { file: file({ store, maxBytes: 100, types: ['text/plain'] }) }),
  allowAnonymous: true,
}) {}

/** The API of the notes. */
export function notesRouter() {
  return new Router({ prefix: 'api' })
    .register('authors', Authors)
    .register('tags', Tags)
    .register('notes', Notes)
    .register('notes/:note/scans', Scans)
    .register('scans', Scans, { basename: 'all_scans' });
}
