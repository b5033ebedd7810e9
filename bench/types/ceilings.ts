/**
 * `node bench/types/ceilings.ts`: fails if an application costs the compiler more types or instantiations than its ceiling. The counts are
 * the same on every machine. A ceiling is some 5 % above the value measured when it was set. If a change needs more, find out why before
 * you raise it: a class without a variance annotation has tripled the types.
 */
import { typeCosts } from './types.ts';

/** The most types and instantiations, by application. */
const CEILINGS: Readonly<Record<string, readonly [types: number, instantiations: number]>> = {
  'one view': [15_600, 64_500],
  'ten views': [21_800, 117_000],
  'fifty views': [46_900, 338_000],
  'fifty views and their client': [58_000, 465_000],
};

const failures = typeCosts(0, [true]).flatMap(({ application, types, instantiations }) => {
  const [mostTypes, mostInstantiations] = CEILINGS[application]!;
  const figures = `${application}: ${types} types (ceiling ${mostTypes}), ${instantiations} instantiations (ceiling ${mostInstantiations})`;
  console.log(figures);
  return types > mostTypes || instantiations > mostInstantiations ? [figures] : [];
});
if (failures.length > 0) {
  console.error(`Applications cost the compiler more than their ceilings:\n${failures.join('\n')}`);
  process.exitCode = 1;
}
