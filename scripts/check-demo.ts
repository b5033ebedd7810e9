/** Starts a demo with the given command, requests the given paths, and stops it like a terminal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const START_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 20_000;

const [paths = '', ...words] = process.argv.slice(2);
const command = words.join(' ');
const environment = { ...process.env, HOST: '127.0.0.1', PORT: '0', DATABASE_URL: 'sqlite::memory:' };
// A separate process group: Ctrl+C reaches npx, pnpm and the server.
const demo = spawn(command, { shell: true, detached: true, env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
const exited = once(demo, 'exit');
const interrupt = (signal: NodeJS.Signals): void => {
  if (demo.pid !== undefined && demo.exitCode === null && demo.signalCode === null) process.kill(-demo.pid, signal);
};
process.on('exit', () => interrupt('SIGKILL'));

const address = await Promise.race([
  listeningAddress(),
  exited.then(() => undefined),
  sleep(START_TIMEOUT_MS, undefined),
]);
if (address === undefined) fail('The demo did not say where it listens');
for (const path of paths.split(',')) {
  const response = await fetch(new URL(path, address));
  console.log(`GET ${path}: ${response.status} ${(await response.text()).slice(0, 100)}`);
  if (response.status !== 200) fail(`GET ${path} answered ${response.status}`);
}
interrupt('SIGINT');
if ((await Promise.race([exited, sleep(STOP_TIMEOUT_MS, undefined)])) === undefined) fail('The demo did not stop');
process.exit(0);

/** Reads the output to its end: a demo that goes on to speak into a closed pipe would end with an error. */
function listeningAddress(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let output = '';
  demo.stdout.on('data', (chunk: Buffer) => {
    process.stdout.write(chunk);
    output += chunk.toString();
    const match = /is listening on (http:\/\/localhost:\d+)/.exec(output);
    if (match !== null) resolve(match[1]!);
  });
  return promise;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
