import { table } from '../table.ts';
import type { TypeCost } from './types.ts';

/** A table of the compiler's cost for applications. */
export function typesReport(costs: readonly TypeCost[]): string {
  const rows = costs.map(({ application, isPacked, types, instantiations, checkSeconds, totalSeconds }) => [
    `${application}, ${isPacked ? 'packages as published' : 'packages as sources'}`,
    types.toLocaleString('en'),
    instantiations.toLocaleString('en'),
    `${checkSeconds.toFixed(2)} s`,
    `${totalSeconds.toFixed(2)} s`,
  ]);
  return table(['application', 'types', 'instantiations', 'check', 'in all'], rows);
}
