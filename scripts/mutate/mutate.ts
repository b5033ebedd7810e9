/**
 * `pnpm mutate [--only FILE] [--each N]`: misspells each name and literal in the entities, views and servers of the examples, one at a
 * time, and counts which step detects it first: the compiler, the start of the application, the responses to its first requests, or none.
 *
 * `--each 8` tests every eighth mutant, as CI does. Fails if a mutant stays undetected that is not in the list of those that only the
 * author can detect (`accepted.ts`).
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ACCEPTED } from './accepted.ts';
import { compile } from './compiler.ts';
import { Sources } from './copies.ts';
import { type Example, EXAMPLES } from './examples.ts';
import { outcomeOfProgram, ShopRunner } from './outcomes.ts';
import { type Mutant, mutantsOf } from './mutants.ts';

const STAGES = ['compiler', 'start', 'first request', 'nobody'] as const;
type Stage = (typeof STAGES)[number];

/** Copies for one run of the compiler: the types of each copy stay in its memory. */
const BATCH = 120;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    each: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
});
const { only = '' } = values;
if (!/^[1-9]\d*$/.test(values.each)) throw new Error(`--each takes a whole number above 0, not "${values.each}"`);
if (!EXAMPLES.some(({ mutated }) => mutated.some((file) => file.includes(only)))) {
  throw new Error(`--only names no file that is mutated: "${only}"`);
}

const root = fileURLToPath(new URL('../..', import.meta.url));
// Inside the shop, so that the copies find its packages.
const scratch = mkdtempSync(join(root, 'examples/shop/.mutants-'));

let isClean = true;
try {
  for (const example of EXAMPLES) isClean = (await runMutants(example)) && isClean;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = isClean ? 0 : 1;

/** Judges all mutants of an example and prints the counts; true if nobody has overlooked what could be known. */
async function runMutants(example: Example): Promise<boolean> {
  for (const name of readdirSync(scratch)) rmSync(join(scratch, name), { recursive: true });
  const sources = new Sources(join(root, example.folder));
  const files = example.mutated.filter((file) => file.includes(only));
  const all = files.flatMap((file) => mutantsOf(file, sources.textOf(file)));
  const counted = all.filter(({ isEquivalent }) => !isEquivalent);
  const mutants = counted.filter((_, index) => index % Number(values.each) === 0);
  if (mutants.length === 0) return true;
  const folders = new Map(mutants.map((mutant, index) => [mutant, `m${index}`] as const));
  for (const [mutant, folder] of folders) sources.write(join(scratch, folder), mutant.file, mutant);
  const stages = new Map<Mutant, Stage>();
  for (const mutant of refused(mutants, folders)) stages.set(mutant, 'compiler');
  sources.write(join(scratch, 'original'), example.entry);
  const isProgram = example.entry === 'program.ts';
  const runner = new ShopRunner();
  const outcomeOf = (folder: string) => {
    const entry = join(scratch, folder, example.entry);
    return isProgram ? outcomeOfProgram(entry) : runner.outcomeOf(entry);
  };
  const original = JSON.stringify(await outcomeOf('original'));
  if (original !== JSON.stringify(await outcomeOf('original'))) {
    throw new Error(`${example.name} never answers alike`);
  }
  for (const [mutant, folder] of folders) {
    if (stages.has(mutant)) continue;
    const outcome = await outcomeOf(folder);
    if (values.verbose && 'refused' in outcome) console.log(place(mutant), outcome.refused.slice(0, 200));
    const noticed = 'refused' in outcome ? 'start' : 'first request';
    stages.set(mutant, JSON.stringify(outcome) === original ? 'nobody' : noticed);
  }
  runner.close();
  return report(example, all.length - counted.length, stages);
}

/** Returns the mutants in whose copies the compiler finds an error. */
function refused(mutants: readonly Mutant[], folders: ReadonlyMap<Mutant, string>): Mutant[] {
  const alone = mutants.filter(({ isGlobal }) => isGlobal).map((mutant) => [mutant]);
  const together = mutants.filter(({ isGlobal }) => !isGlobal);
  const batches: Mutant[][] = [...alone];
  for (let from = 0; from < together.length; from += BATCH) batches.push(together.slice(from, from + BATCH));
  return batches.flatMap((batch) => {
    const wrong = compile(
      scratch,
      batch.map((mutant) => folders.get(mutant) as string),
    );
    return batch.filter((mutant) => wrong.has(folders.get(mutant) as string));
  });
}

function report({ name }: Example, equivalent: number, stages: ReadonlyMap<Mutant, Stage>): boolean {
  console.log(`\n${name}: ${stages.size} mutants, and ${equivalent} that change words for people alone`);
  for (const stage of STAGES) {
    const found = [...stages].filter(([, reached]) => reached === stage).map(([mutant]) => mutant);
    console.log(`${String(found.length).padStart(6)}  ${stage}`);
    const listed = stage === 'nobody' || (values.verbose && stage !== 'compiler') ? found : [];
    for (const mutant of listed) console.log(`        ${place(mutant)}`);
  }
  const overlooked = [...stages].filter(([mutant, stage]) => stage === 'nobody' && !isAccepted(mutant));
  for (const [mutant] of overlooked) console.log(`overlooked: ${place(mutant)}`);
  return overlooked.length === 0;
}

function isAccepted({ file, was }: Mutant): boolean {
  return ACCEPTED.some((accepted) => accepted.file === file && accepted.names.includes(was));
}

function place({ file, line, was, is }: Mutant): string {
  return `${file}:${line} ${was} → ${is}`;
}
