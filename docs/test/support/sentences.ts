/** The text of one sentence, and how many words it has; a span of code is one word. */
export interface Sentence {
  readonly text: string;
  readonly words: number;
  /** Cells of tables are often no whole sentence, so the median leaves them out. */
  readonly inTable: boolean;
}

/** Returns the sentences of a page in Markdown, without its headings and blocks of code. */
export function sentencesOf(markdown: string): readonly Sentence[] {
  return passagesOf(markdown).flatMap(({ text, inTable }) =>
    splitSentences(plainText(text)).map((sentence) => ({ text: sentence, words: countWords(sentence), inTable })),
  );
}

/** Returns the number that this share of the sorted numbers does not exceed: 0.5 is the median. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

interface Passage {
  readonly text: string;
  readonly inTable: boolean;
}

/** Paragraphs, items of lists and cells of tables: no sentence goes on from one into the next. */
function passagesOf(markdown: string): readonly Passage[] {
  const passages: Passage[] = [];
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) passages.push({ text: paragraph.join(' '), inTable: false });
    paragraph = [];
  };
  for (const line of withoutCode(markdown).split('\n')) {
    const item = /^\s*(?:[-*]|\d+\.)\s+(.*)/.exec(line)?.[1];
    if (/^\s*(#|$)/.test(line)) endParagraph();
    else if (/^\s*\|/.test(line)) {
      endParagraph();
      passages.push(...cellsOf(line).map((text) => ({ text, inTable: true })));
    } else if (item === undefined) paragraph.push(line.trim());
    else {
      endParagraph();
      paragraph.push(item);
    }
  }
  endParagraph();
  return passages;
}

/** Takes out fenced blocks, hidden blocks in comments, and blocks that are indented by four spaces. */
function withoutCode(markdown: string): string {
  const unfenced = markdown.replaceAll(/^([ \t]*)(`{3,})[^\n]*\n[\s\S]*?^[ \t]*\2[ \t]*$/gm, '');
  return unfenced.replaceAll(/<!--[\s\S]*?-->/g, '').replaceAll(/(?<=\n\n)(?: {4}.*\n)+/g, '');
}

function cellsOf(row: string): readonly string[] {
  const cells = row.split(/(?<!\\)\|/).map((cell) => cell.trim());
  return cells.filter((cell) => cell !== '' && !/^:?-+:?$/.test(cell));
}

function plainText(markdown: string): string {
  return markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/(`+).+?\1/g, (span) => `${span[0]}${span.replaceAll(/[`\s.!?]/g, '')}${span[0]}`);
}

function splitSentences(text: string): readonly string[] {
  return text.split(/(?<=[.!?]["”)*]*)\s+(?=["“(*]*[A-Z0-9`])/).filter((sentence) => countWords(sentence) > 0);
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
