/** Things that a newcomer looks for, in a newcomer's words, and the pages (or places on them) that answer. */
export const QUESTIONS: readonly (readonly [question: string, answers: readonly string[]])[] = [
  ['one transaction per request', ['/guide#transactions', '/transactions']],
  ['cursor pagination secret', ['/pagination']],
];
