import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Test } from 'tap';

/** A server in a process of its own. */
export interface ForkedServer {
  readonly address: string;
  readonly process: ChildProcess;
}

/** Starts a program whose first message is the address that it listens on. It is killed when the test ends. */
export async function forkServer(
  t: Test,
  program: string,
  env: Readonly<Record<string, string>>,
): Promise<ForkedServer> {
  const server = fork(program, { env: { ...process.env, ...env } });
  t.teardown(() => server.kill('SIGKILL'));
  const [address] = (await once(server, 'message')) as [string];
  return { address, process: server };
}
