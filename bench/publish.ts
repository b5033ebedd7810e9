import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const RESULTS = new URL('./results/', import.meta.url);
const PAGE = new URL('../docs/performance.md', import.meta.url);

/** Stores the results of a run in a separate file, which git ignores. */
export function keepResults(name: string, results: object): void {
  mkdirSync(RESULTS, { recursive: true });
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  const file = `${name}-${time}.json`;
  writeFileSync(new URL(file, RESULTS), toJson(results));
  console.log(`\nThe results are kept in bench/results/${file}`);
}

/** Makes the results of a run the published ones: `results/latest-<name>.json`, and a section of docs/performance.md. */
export function publish(name: string, results: object, markdown: string): void {
  writeFileSync(new URL(`latest-${name}.json`, RESULTS), toJson(results));
  const page = readFileSync(PAGE, 'utf8');
  const [begin, end] = [`<!-- bench:${name}:begin -->\n`, `<!-- bench:${name}:end -->`];
  const [first, last] = [page.indexOf(begin), page.indexOf(end)];
  if (first === -1 || last < first) throw new Error(`docs/performance.md has no place for "${name}"`);
  writeFileSync(PAGE, `${page.slice(0, first)}${begin}\n${markdown}\n\n${page.slice(last)}`);
}

/** Writes a picture next to docs/performance.md. */
export function publishPicture(name: string, svg: string): void {
  writeFileSync(new URL(name, PAGE), svg);
}

const LINE_WIDTH = 200;
const SIGNIFICANT_DIGITS = 5;

/** JSON in which each value that fits on a line is on one, so that a new measurement of a server changes one line. */
function toJson(results: object): string {
  return `${formatted(results, '')}\n`;
}

function formatted(value: unknown, indentation: string): string {
  const line = JSON.stringify(value, rounded, 1).replaceAll(/\n */g, ' ');
  if (typeof value !== 'object' || value === null || indentation.length + line.length <= LINE_WIDTH) return line;
  const deeper = `${indentation}  `;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const parts = Object.entries(value).map(
    ([key, part]) => deeper + (Array.isArray(value) ? '' : `${JSON.stringify(key)}: `) + formatted(part, deeper),
  );
  return `${open}\n${parts.join(',\n')}\n${indentation}${close}`;
}

function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(SIGNIFICANT_DIGITS)) : value;
}
