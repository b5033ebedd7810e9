export { fullText, type FullTextField, type FullTextOptions, type FullTextSearch } from './full-text.ts';
export { fullTextSchema, updateFullText } from './index-schema.ts';
export type { FullTextLanguage } from './languages.ts';
