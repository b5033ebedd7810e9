/** `pnpm bench`: see `options.ts` for its arguments. */
import { divideCores } from './cores.ts';
import { compare } from './compare/compare.ts';
import { comparisonReport } from './compare/report.ts';
import { inProcess } from './in-process/in-process.ts';
import { inProcessReport } from './in-process/report.ts';
import { type Options, readOptions, UsageError } from './options.ts';
import { allocations, profile } from './profile/profile.ts';
import { keepResults, publish, publishPicture } from './publish.ts';
import { latencyPicture } from './scale/picture.ts';
import { documentCost } from './scale/document-cost.ts';
import { documentReport, scaleReport } from './scale/report.ts';
import { scale } from './scale/scale.ts';
import { typesReport } from './types/report.ts';
import { typeCosts } from './types/types.ts';

const COMMANDS = {
  compare: runComparison,
  'in-process': runInProcess,
  profile,
  allocations,
  scale: runScale,
  types: runTypes,
  document: runDocument,
};

const given = optionsOrExit(process.argv.slice(2));
await COMMANDS[given.command](given);

function optionsOrExit(argv: readonly string[]): Options {
  try {
    return readOptions(argv);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process[error.isMistake ? 'stderr' : 'stdout'].write(`${error.message}\n`);
    process.exit(error.isMistake ? 2 : 0);
  }
}

function show(report: string, { quick }: Options): void {
  console.log(`\n${quick ? 'A smoke run: the figures below mean nothing.\n\n' : ''}${report}`);
}

async function runComparison(options: Options): Promise<void> {
  const run = await compare(options);
  const report = comparisonReport(run);
  show(report, options);
  keepResults('compare', run);
  if (options.publish) publish('compare', run, report);
}

async function runInProcess(options: Options): Promise<void> {
  const run = await inProcess(options);
  const report = inProcessReport(run);
  show(report, options);
  keepResults('in-process', run);
  if (options.publish) publish('in-process', run, report);
}

async function runScale(options: Options): Promise<void> {
  const run = await scale(options);
  const report = scaleReport(run, 'performance-scale.svg');
  show(report, options);
  keepResults('scale', run);
  if (!options.publish) return;
  publish('scale', run, report);
  publishPicture('performance-scale.svg', latencyPicture(run.lists));
}

async function runTypes(options: Options): Promise<void> {
  const run = typeCosts(options.quick ? 1 : 3);
  const report = typesReport(run);
  show(report, options);
  keepResults('types', run);
  if (options.publish) publish('types', run, report);
}

async function runDocument(options: Options): Promise<void> {
  const cores = divideCores();
  const run = [50, 200].map((views) => documentCost(views, options.quick ? 1 : 5, cores));
  const report = documentReport(run);
  show(report, options);
  keepResults('document', run);
  if (options.publish) publish('document', run, report);
}
