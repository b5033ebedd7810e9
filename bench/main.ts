/** `pnpm bench`: see `options.ts` for what it takes. */
import { compare } from './compare/compare.ts';
import { comparisonReport } from './compare/report.ts';
import { inProcess } from './in-process/in-process.ts';
import { inProcessReport } from './in-process/report.ts';
import { type Options, readOptions } from './options.ts';
import { profile } from './profile/profile.ts';
import { keepResults, publish, publishPicture } from './publish.ts';
import { latencyPicture } from './scale/picture.ts';
import { scaleReport } from './scale/report.ts';
import { scale } from './scale/scale.ts';

const COMMANDS = { compare: runComparison, 'in-process': runInProcess, profile, scale: runScale };

const given = readOptions(process.argv.slice(2));
await COMMANDS[given.command](given);

async function runComparison(options: Options): Promise<void> {
  const run = await compare(options);
  const report = comparisonReport(run);
  console.log(`\n${report}`);
  keepResults('compare', run);
  if (options.publish) publish('compare', run, report);
}

async function runInProcess(options: Options): Promise<void> {
  const run = await inProcess(options);
  const report = inProcessReport(run);
  console.log(`\n${report}`);
  keepResults('in-process', run);
  if (options.publish) publish('in-process', run, report);
}

async function runScale(options: Options): Promise<void> {
  const run = await scale(options);
  const report = scaleReport(run, 'performance-scale.svg');
  console.log(`\n${report}`);
  keepResults('scale', run);
  if (!options.publish) return;
  publish('scale', run, report);
  publishPicture('performance-scale.svg', latencyPicture(run.lists));
}
