import type { PublicSymbol } from './reference.ts';

const FENCE = /^\s*(`{3,})/;
/** A link, which stays as it is, or a span of code. */
const LINK_OR_CODE = /\[[^\]]*\]\([^)]*\)|`([^`]+)`/g;

/**
 * Returns the public symbol that a span of code names: by its name, alone, with type arguments or in a call (`readShape(…)`). A function whose name is
 * an ordinary word has to be called, since `and` may as well be JSON Logic's.
 */
export function symbolIn(code: string, symbols: ReadonlyMap<string, PublicSymbol>): PublicSymbol | undefined {
  const [, name = '', call] = /^(?:new )?([A-Za-z]\w*)(?:<.*>)?(\(.*\))?$/.exec(code) ?? [];
  const symbol = symbols.get(name);
  const isWord = symbol?.isFunction === true && /^[a-z]+$/.test(name);
  return isWord && call === undefined ? undefined : symbol;
}

/** Returns the symbols that a page names in its text, outside of blocks of code. */
export function symbolsNamed(markdown: string, symbols: ReadonlyMap<string, PublicSymbol>): Set<string> {
  const named = new Set<string>();
  eachLineOfText(markdown, (line) => {
    for (const [, code = ''] of line.matchAll(LINK_OR_CODE)) {
      const symbol = symbolIn(code, symbols);
      if (symbol !== undefined) named.add(symbol.name);
    }
    return line;
  });
  return named;
}

/** Links each span of code that names a public symbol to its page in the reference, once a section. */
export function linkSymbols(markdown: string, symbols: ReadonlyMap<string, PublicSymbol>): string {
  const linked = new Set<string>();
  return eachLineOfText(markdown, (line) => {
    if (/^#+ /.test(line)) {
      linked.clear();
      return line;
    }
    return line.replaceAll(LINK_OR_CODE, (match, code: string | undefined) => {
      const symbol = symbolIn(code ?? '', symbols);
      if (symbol === undefined || linked.has(symbol.name)) return match;
      linked.add(symbol.name);
      return `[${match}](/${symbol.address})`;
    });
  });
}

/** Puts each line outside of a block of code through a function. */
export function eachLineOfText(markdown: string, edit: (line: string) => string): string {
  let fence: string | undefined;
  const lines = markdown.split('\n').map((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined && mark === undefined) return edit(line);
    if (mark !== undefined) fence = fence === undefined ? mark : fence === mark ? undefined : fence;
    return line;
  });
  return lines.join('\n');
}
