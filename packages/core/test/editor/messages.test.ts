/**
 * Runs the compiler on programs that are wrong and compares the first line of what it says: an editor shows that line. Of
 * entities that are classes it is short; of constants MikroORM's builder types stand in it.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { runTypeChecker } from '../../../../scripts/type-checker.ts';
import { AS_CLASSES, AS_CONSTANTS } from './entities.ts';
import { MISTAKES, PRELUDE } from './mistakes.ts';

/** The characters of the longest message there may be of entities that are classes. */
const LONGEST = 320;

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = join(root, '.mistakes');
rmSync(scratch, { recursive: true, force: true });
t.teardown(() => rmSync(scratch, { recursive: true, force: true }));

const said = compile({ classes: AS_CLASSES, constants: AS_CONSTANTS });

t.test('correct programs compile', async (t) => {
  const elsewhere = [...said.keys()].filter((file) => !/\d+\.ts$/.test(file));
  t.strictSame(elsewhere, []);
});

for (const [index, { name, message }] of MISTAKES.entries()) {
  t.test(`${name} does not compile`, async (t) => {
    const [first, ...others] = said.get(`classes/${index}.ts`) ?? [];
    t.equal(first, message);
    t.strictSame(others, [], 'one line, at its place');
    t.ok((first ?? '').length <= LONGEST, `at most ${LONGEST} characters`);
    const ofConstants = said.get(`constants/${index}.ts`) ?? [];
    t.equal(ofConstants.length, 1, 'entities that are constants are judged alike');
    t.equal(hintOf(ofConstants[0]), hintOf(message), 'with the same hint');
  });
}

function hintOf(message: string | undefined): string | undefined {
  return /Did you mean .*$/.exec(message ?? '')?.[0];
}

/** Returns the first lines of the compiler's messages by file. */
function compile(forms: Readonly<Record<string, string>>): Map<string, string[]> {
  for (const [form, entities] of Object.entries(forms)) {
    mkdirSync(join(scratch, form), { recursive: true });
    writeFileSync(join(scratch, form, 'entities.ts'), entities);
    for (const [index, { code }] of MISTAKES.entries()) {
      writeFileSync(join(scratch, form, `${index}.ts`), PRELUDE + code);
    }
  }
  const compilerOptions = { moduleDetection: 'force', noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: '../../../tsconfig.base.json', compilerOptions, include: Object.keys(forms) };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config));
  const { output } = runTypeChecker(scratch, ['-p', '.']);
  const messages = new Map<string, string[]>();
  for (const line of output.split('\n')) {
    const [, file, text] = /^(\S+)\(\d+,\d+\): error TS\d+: (.*)$/.exec(line) ?? [];
    if (file === undefined || text === undefined) continue;
    messages.set(file, [...(messages.get(file) ?? []), text]);
  }
  return messages;
}
