/** `pnpm bench`: see `options.ts` for what it takes. */
import { compare } from './compare/compare.ts';
import { comparisonReport } from './compare/report.ts';
import { readOptions } from './options.ts';
import { keepResults, publish } from './publish.ts';

const options = readOptions(process.argv.slice(2));
const run = await compare(options);
const report = comparisonReport(run);
console.log(`\n${report}`);
keepResults('compare', run);
if (options.publish) publish('compare', run, report);
