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

/** Words with a private meaning, and the trade's words for them. They may stand in code, and in pages for people who change the library. */
const TRADE_WORDS: ReadonlyMap<RegExp, string> = new Map([
  [/\b(holds|held)\b/i, '"contains", "has", "blocks", "applies"'],
  [/\btells?\b|\btold\b/i, '"notifies", "says", "returns"'],
  [/\bhears? of\b/i, '"is notified of"'],
  [/\bjudg(e|es|ed|ing)\b/i, '"checks", "validates"'],
  [/\b(is|are|was|were|be) asked\b/i, '"is checked", "is requested"'],
  [/\banswer(s|ed|ing)?\b/i, '"response", "responds", "gives"'],
  [/\bstrangers?\b/i, '"unknown device", "another user", "anonymous user"'],
  [/\bgives? up\b/i, '"cancels", "stops"'],
  [/\bthe one (error )?body\b/i, '"the usual error body"'],
  [/\bcame\b/i, '"was received", "was sent"'],
  [/\bcomes (twice|back|several times)\b/i, '"is sent twice", "is returned"'],
  [/\bfaults?\b/i, '"error", "bug"'],
  [/\bvoids?\b/i, '"invalid"'],
  [/\bfor the sake of\b/i, '"because of"'],
  [/\b(was|were) tried\b/i, 'say what is true now; reasons of the past belong to architecture.md and the changelog'],
]);

/** Pages for people who change the library, and pages about people: only the words above are kept out of them. */
const OTHER_VOICES = new Set([
  'CHANGELOG.md',
  'CODE_OF_CONDUCT.md',
  'CONTRIBUTING.md',
  'SUPPORT.md',
  'docs/architecture.md',
  'docs/performance.md',
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
    const words = OTHER_VOICES.has(page) ? [PLAIN_WORDS] : [PLAIN_WORDS, TRADE_WORDS];
    t.strictSame(
      words.flatMap((list) => sentences.flatMap((sentence) => wordsOf(list, sentence))),
      [],
      'its words are plain',
    );
  });
}

t.test('private words are found in prose and not in code', async (t) => {
  const [prose, code] = sentencesOf('The server answers. `answers: 1` is an option.');
  t.equal(prose && wordsOf(TRADE_WORDS, prose).length, 1);
  t.strictSame(code && wordsOf(TRADE_WORDS, code), []);
});

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

function wordsOf(list: ReadonlyMap<RegExp, string>, { text }: Sentence): readonly string[] {
  const prose = text.replaceAll(/`[^`]*`/g, '``');
  const found = [...list].filter(([pattern]) => pattern.test(prose));
  return found.map(([pattern, instead]) => `${pattern.exec(prose)?.[0]} (${instead}): ${text}`);
}
