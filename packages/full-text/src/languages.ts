/** The languages with rules in both PostgreSQL and MongoDB. */
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

/** A language for matching different forms of a word. `none` matches words as written. */
export type FullTextLanguage = (typeof LANGUAGES)[number] | 'none';
