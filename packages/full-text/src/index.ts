export { fullText, type FullTextField, type FullTextOptions } from './full-text.ts';
export type { FullTextSearch } from './definition.ts';
export { fullTextSchema, updateFullText } from './index-schema.ts';
export type { FullTextLanguage } from './languages.ts';
