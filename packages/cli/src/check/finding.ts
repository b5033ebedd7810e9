/** The kinds of findings. Each is a heading on the page about findings. */
export type FindingCode =
  | 'field-without-index'
  | 'guessable-field'
  | 'login-without-throttle'
  | 'open-write'
  | 'table-differs'
  | 'unbounded-list';

/** A problem that works today but is likely to hurt later. */
export interface Finding {
  readonly code: FindingCode;
  /** The problem, in one sentence. */
  readonly message: string;
  /** The code to write, or what to do. */
  readonly change: string;
  /** The class with the problem, and a word in the line to show. */
  readonly declaredBy: { readonly className: string; readonly word: string };
}
