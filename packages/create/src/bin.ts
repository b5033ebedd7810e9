#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { styleText } from 'node:util';
import { intro, outro } from '@clack/prompts';
import { askChoices } from './ask.ts';
import { type Choices, withDefaults } from './choices.ts';
import { HELP, readCommandLine } from './command-line.ts';
import { createApplication } from './create-application.ts';
import { Mistake } from './mistake.ts';

try {
  await main();
} catch (error) {
  if (!(error instanceof Mistake)) throw error;
  console.error(styleText('red', error.message));
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { given, isUnattended, wantsHelp } = readCommandLine(
    process.argv.slice(2),
    process.env['npm_config_user_agent'],
  );
  if (wantsHelp) return console.log(HELP);
  intro('A new Viewset application');
  const isInteractive = !isUnattended && process.stdin.isTTY && process.stdout.isTTY;
  const choices = isInteractive
    ? await askChoices(given, { input: process.stdin, output: process.stdout })
    : withDefaults(given);
  const files = createApplication(choices);
  console.log(`Wrote ${files.length} files into ${choices.folder}: ${files.join(', ')}`);
  if (choices.install) install(choices);
  outro(
    `Next:\n${nextSteps(choices)
      .map((step) => `     ${step}`)
      .join('\n')}`,
  );
}

function install({ folder, packageManager }: Choices): void {
  console.log(`$ ${packageManager} install`);
  const { status } = spawnSync(packageManager, ['install'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Mistake(`"${packageManager} install" failed; run it again in ${folder}`);
}

function nextSteps({ folder, database, parts, packageManager, install: isInstalled }: Choices): string[] {
  return [
    `cd ${folder}`,
    ...(isInstalled ? [] : [`${packageManager} install`]),
    ...(database === 'sqlite' ? [] : ['docker compose up --detach --wait    # or set the URLs in .env']),
    ...(parts.includes('tests') ? [`${packageManager} run test`] : []),
    `${packageManager} run dev`,
  ];
}
