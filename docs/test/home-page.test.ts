/** The home page quotes figures of other pages. A new run of the benchmark changes those, and then this page has to follow. */
import { readFileSync } from 'node:fs';
import t from 'tap';

const read = (page: string): string => readFileSync(new URL(`../${page}`, import.meta.url), 'utf8');
const home = read('index.md');
const readme = read('../README.md');

t.test('its table has the figures of the benchmark', async (t) => {
  const [, requests = ''] =
    /### PostgreSQL, 1,000 rows[^]*?\n(\| requests\/s[^]*?)\n\n/.exec(read('performance.md')) ?? [];
  const measured = requests.split('\n').map(cellsOf);
  const quoted = home
    .split('\n')
    .map(cellsOf)
    .filter((cells) => cells.slice(1).every((cell) => /^[\d,]+$/.test(cell)) && cells.length === 4);
  t.equal(quoted.length, 7);
  for (const [workload = '', ours, raw, hand] of quoted) {
    const [, , ...figures] = measured.find(([name]) => name === workload) ?? [];
    t.strictSame([raw, hand, ours], figures.slice(0, 3).map(withoutLatency), workload);
  }
});

t.test('its ratios and numbers of lines are those of the other pages', async (t) => {
  const cpu = read('performance.md').match(/^\| list: page 1 of 10 records.*\*\*[\d.]+\*\*.*≤/gm) ?? [];
  const ratios = cpu.map((row) => /\*\*([\d.]+)\*\*/.exec(row)?.[1]);
  t.match(
    home,
    `A list takes ${ratios[0]} times the processor time of your own SQL on SQLite, and ${ratios[1]} times on`,
  );
  const [, theirs, ours] = /^\| all \| (\d+) \| (\d+) \|$/m.exec(read('django.md')) ?? [];
  t.match(home, `take ${ours} lines here, and ${theirs} in Django REST framework`);
});

t.test('the README has the same figures', async (t) => {
  const rows = home.split('\n').map(cellsOf);
  const [, ours, raw, hand] = rows.find(([name]) => name?.startsWith('list: page 1 of 10 records')) ?? [];
  const text = readme.replaceAll(/\s+/g, ' ');
  t.match(text, `serves [${ours} requests a second]`);
  t.match(text, `SQL serves ${raw} there, and MikroORM, used as its documentation teaches, serves ${hand}.`);
  const [, theirs, lines] = /^\| all \| (\d+) \| (\d+) \|$/m.exec(read('django.md')) ?? [];
  t.match(readme, `[${lines} lines here and ${theirs} there]`);
});

function cellsOf(row: string): string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** `7,820 (3 / 11)` is requests, and two latencies. */
function withoutLatency(cell: string): string {
  return cell.replace(/ .*/, '');
}
