/** The kinds of findings, each a heading of the page about them. */
export type FindingCode =
  | 'field-without-index'
  | 'guessable-field'
  | 'login-without-throttle'
  | 'open-write'
  | 'table-differs'
  | 'unbounded-list';

/** Something that works today and is likely to hurt later. */
export interface Finding {
  readonly code: FindingCode;
  /** What is wrong, in a sentence. */
  readonly message: string;
  /** The code to write, or what to do. */
  readonly change: string;
  /** The name of the class that declares it, and a word of the line. */
  readonly declaredBy: { readonly className: string; readonly word: string };
}
