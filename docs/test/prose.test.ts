/** The pages are plain English: sentences that are read once, in words that everybody knows. `node scripts/prose.ts` prints figures. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { percentile, type Sentence, sentencesOf } from './support/sentences.ts';

const MEDIAN_WORDS = 15;
const MAXIMUM_WORDS = 40;

/** Words that make a reader start again, and what to write instead. */
const PLAIN_WORDS: ReadonlyMap<RegExp, string> = new Map([
  [/\bwhoever\b/i, 'name the person: "a user", "the client"'],
  [/\bone's\b/i, '"your", "a user\'s"'],
  [/\bnobody's\b/i, 'say who cannot do it'],
  [/\bin the place of\b/i, '"instead of"'],
  [/\bstops? the start\b/i, '"fails at start"'],
  [/\banew\b/i, '"again"'],
  [/\bso (is|are) (it|they)\b/i, '"the same is true of"'],
  [/\b(is|are) an? [2345]\d\d\b/, '"gives 404"'],
]);

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = globSync(['*.md', 'docs/*.md', 'packages/*/README.md', 'examples/*/README.md'], { cwd: root });
t.ok(pages.length > 40, 'the pages can be found');

for (const page of pages.toSorted()) {
  const sentences = sentencesOf(readFileSync(join(root, page), 'utf8'));
  const long = sentences.filter(({ words }) => words > MAXIMUM_WORDS);
  const median = percentile(wordsOutsideTables(sentences), 0.5);
  t.test(page, async (t) => {
    t.ok(sentences.length > 5, 'the page can be read');
    t.ok(median <= MEDIAN_WORDS, `its median sentence has ${median} words`);
    t.strictSame(
      long.map(({ text }) => text),
      [],
      'no sentence is too long',
    );
    t.strictSame(sentences.flatMap(hardWords), [], 'its words are plain');
  });
}

t.test('sentences are counted as a reader sees them', async (t) => {
  const page = [
    '# No heading counts.',
    'A `readShape(Book, [])` is one word. The next sentence goes on',
    'in the next line.',
    '- An item ends where it ends',
    '',
    '```ts',
    'const code = "is not read. At all.";',
    '```',
    '',
    '    nor is this',
    '',
    '| cell | two words |',
    '|---|---|',
  ].join('\n');
  t.strictSame(
    sentencesOf(page).map(({ words, inTable }) => (inTable ? -words : words)),
    [5, 9, 6, -1, -2],
  );
});

function wordsOutsideTables(sentences: readonly Sentence[]): readonly number[] {
  return sentences.filter(({ inTable }) => !inTable).map(({ words }) => words);
}

function hardWords({ text }: Sentence): readonly string[] {
  const found = [...PLAIN_WORDS].filter(([pattern]) => pattern.test(text));
  return found.map(([pattern, instead]) => `${pattern.exec(text)?.[0]} (${instead}): ${text}`);
}
