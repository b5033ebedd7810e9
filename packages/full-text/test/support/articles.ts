import { defineEntity, p } from '@mikro-orm/core';

const ArticleSchema = defineEntity({
  name: 'Article',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(200),
    body: p.text().nullable(),
    topic: p.string().length(40).default('none'),
    secret: p.string().length(40).default('').hidden(),
    section: () => p.manyToOne(Section).nullable(),
  },
});
export class Article extends ArticleSchema.class {}
ArticleSchema.setClass(Article);

const SectionSchema = defineEntity({
  name: 'Section',
  properties: { id: p.integer().primary(), name: p.string().length(100) },
});
export class Section extends SectionSchema.class {}
SectionSchema.setClass(Section);

export const entities = [Article, Section];

/** The options that SQLite needs. */
export const GENERATOR = { schemaGenerator: { skipTables: [/_full_text/], ignoreTriggers: true } };
