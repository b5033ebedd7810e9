/** The languages that both PostgreSQL and MongoDB have rules for. */
export const LANGUAGES = [
  'danish',
  'dutch',
  'english',
  'finnish',
  'french',
  'german',
  'hungarian',
  'italian',
  'norwegian',
  'portuguese',
  'romanian',
  'russian',
  'spanish',
  'swedish',
  'turkish',
] as const;

/** A language whose forms of words are found by one another; `none`: words are found as they are written. */
export type FullTextLanguage = (typeof LANGUAGES)[number] | 'none';
