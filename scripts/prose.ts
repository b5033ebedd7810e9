/**
 * Prints how long the sentences of pages are: the number of sentences, the median and the 90th percentile of their words, and each
 * sentence above 30 words. `node scripts/prose.ts docs/guide.md`; without names, of the README, docs and the READMEs of packages and examples.
 */
import { globSync, readFileSync } from 'node:fs';
import { percentile, sentencesOf } from '../docs/test/support/sentences.ts';

const LONG_WORDS = 30;

const named = process.argv.slice(2);
const pages =
  named.length > 0
    ? named
    : globSync(['README.md', 'docs/*.md', 'packages/*/README.md', 'examples/*/README.md']).toSorted();

for (const page of pages) {
  const sentences = sentencesOf(readFileSync(page, 'utf8'));
  const lengths = sentences.filter(({ inTable }) => !inTable).map(({ words }) => words);
  const long = sentences.filter(({ words }) => words > LONG_WORDS);
  console.log(
    `${page}: ${lengths.length} sentences, median ${percentile(lengths, 0.5)}, 90% ${percentile(lengths, 0.9)}, ${long.length} above ${LONG_WORDS}`,
  );
  if (named.length > 0) for (const { text, words } of long) console.log(`  ${words}: ${text}`);
}
