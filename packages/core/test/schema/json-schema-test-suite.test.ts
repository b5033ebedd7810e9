/**
 * The required cases of the official JSON-Schema-Test-Suite for draft 2020-12, by the validator of bodies. Each case passes, or its
 * difference is one of those below. `json-schema-test-suite/` has the cases, with their license.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { TSchema } from 'typebox';
import { compileSchema } from '../../src/schema/compile-schema.ts';
import { Reading, type SchemaNode } from '../../src/schema/reading.ts';

interface Group {
  readonly description: string;
  readonly schema: TSchema | boolean;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

/** What happens to a case: `compile` with the message of the error, if the schema is refused. */
type Outcome = 'passes' | 'accepts invalid' | 'refuses valid' | `compile: ${string}`;

/** The differences: why, in which files, what happens, and how many cases. */
const DIFFERENCES: readonly (readonly [why: string, files: RegExp, outcome: RegExp, cases: number])[] = [
  ['formats are validated, not only annotations', /^format$/, /^refuses/, 19],
  ['every keyword is validated, whatever $schema says', /^vocabulary$/, /^refuses/, 1],
  [
    'further properties are dropped, unless they decide in a union or condition',
    /^(?:additionalProperties|dependentSchemas|ref|unevaluatedProperties)$/,
    /^accepts/,
    51,
  ],
  ['no document is fetched', /^(?:refRemote|dynamicRef|ref|defs)$/, /^compile: .*refers to nothing/s, 48],
  ['dynamic references are not known', /./, /^compile: .*unknown keyword: "\$dynamicRef"/s, 31],
  ['unevaluatedItems is not known', /^unevaluated/, /^compile: .*unknown keyword: "unevaluatedItems"/s, 71],
  ['unevaluatedProperties is a flag', /^unevaluatedProperties$/, /^compile: .*must be true or false/s, 8],
  ['a default that its schema rejects is a mistake', /^default$/, /^compile: .*the default/s, 7],
  ['an enum without values is a mistake', /^enum$/, /^compile: .*enum must be/s, 6],
  ['__proto__ is never a property', /^properties$/, /^compile: .*"__proto__"/s, 7],
];

function compiled(schema: TSchema | boolean): SchemaNode | string {
  try {
    return compileSchema(typeof schema === 'boolean' ? { allOf: [schema] } : schema, 'body');
  } catch (error) {
    return (error as Error).message;
  }
}

function outcomeOf(node: SchemaNode | string, { data, valid }: Group['tests'][number]): Outcome {
  if (typeof node === 'string') return `compile: ${node}`;
  const reading = new Reading(1);
  node.read(data, reading);
  const isAccepted = reading.faults.length === 0;
  if (isAccepted === valid) return 'passes';
  return isAccepted ? 'accepts invalid' : 'refuses valid';
}

/** The cases of a file, each with its description and outcome. */
function outcomesOf([file, groups]: [file: string, groups: readonly Group[]]): [string, string, Outcome][] {
  return groups.flatMap(({ description, schema, tests }) => {
    const node = compiled(schema);
    return tests.map((one): [string, string, Outcome] => [
      file,
      `${description}: ${one.description}`,
      outcomeOf(node, one),
    ]);
  });
}

t.test('every required case passes, or differs for a known reason', async (t) => {
  const url = new URL('json-schema-test-suite/draft2020-12.json', import.meta.url);
  const files = JSON.parse(readFileSync(url, 'utf8')) as Record<string, readonly Group[]>;
  const counts = new Map(DIFFERENCES.map(([why]) => [why, 0]));
  let passed = 0;
  for (const [file, description, outcome] of Object.entries(files).flatMap(outcomesOf)) {
    const known = DIFFERENCES.find(([, names, outcomes]) => names.test(file) && outcomes.test(outcome));
    if (outcome === 'passes') passed += 1;
    else if (known === undefined) t.fail(`${file}: ${description}: ${outcome}`);
    else counts.set(known[0], counts.get(known[0])! + 1);
  }
  t.strictSame(
    [...counts],
    DIFFERENCES.map(([why, , , cases]) => [why, cases]),
  );
  t.equal(passed, 1050);
});
