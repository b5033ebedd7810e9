import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { pinned, type Cores } from './cores.ts';
import type { InProcessLoad } from './in-process/load-in-process.ts';
import type { Answer, Command, ServerSettings, Usage } from './servers/serve.ts';
import type { BenchRequest } from './workloads.ts';

/** The servers, from the least that one can do to the most. */
export const SERVER_NAMES = ['floor', 'raw', 'plugin', 'hand', 'ours'] as const;
export type ServerName = (typeof SERVER_NAMES)[number];

type Message = { readonly id: number; readonly result?: unknown; readonly error?: string };

const ANSWER_TIMEOUT_MS = 30_000;
/** A process that waits for its database gets little of the processor; one that gets less than this hangs. */
const LEAST_CPU_SHARE = 1 / 60;

/** One of the servers, in a separate process, on a separate core. */
export class ServerProcess<Name extends string = ServerName> {
  readonly name: Name;
  readonly url: string;
  readonly #child: ChildProcess;
  #lastId = 0;

  private constructor(name: Name, port: number, child: ChildProcess) {
    this.name = name;
    this.url = `http://127.0.0.1:${port}`;
    this.#child = child;
  }

  /** @param name of a file in `servers/` */
  static async start<Name extends string>(
    name: Name,
    settings: ServerSettings,
    cores: Cores,
  ): Promise<ServerProcess<Name>> {
    const file = fileURLToPath(new URL(`./servers/${name}.ts`, import.meta.url));
    const [command, args] = pinned(cores.server, process.execPath, [file, JSON.stringify(settings)]);
    const child = spawn(command, args, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    const port = await receive(child, 0, name);
    return new ServerProcess(name, port as number, child);
  }

  async usage(): Promise<Usage> {
    return (await this.#ask({ name: 'usage' })) as Usage;
  }

  async setConstants(answers: ReadonlyMap<string, Answer>): Promise<void> {
    await this.#ask({ name: 'constants', answers: [...answers] });
  }

  /** @returns microseconds of the processor a request, without a network */
  async loadInProcess(requests: readonly BenchRequest[], load: InProcessLoad): Promise<number> {
    const timeoutMs = ANSWER_TIMEOUT_MS + (load.cpuSeconds / LEAST_CPU_SHARE) * 1000;
    return (await this.#ask({ name: 'loadInProcess', requests, load }, timeoutMs)) as number;
  }

  async startProfile(intervalMicroseconds: number): Promise<void> {
    await this.#ask({ name: 'startProfile', intervalMicroseconds });
  }

  async stopProfile<Profile>(): Promise<Profile> {
    return (await this.#ask({ name: 'stopProfile' })) as Profile;
  }

  async startAllocations(intervalBytes: number): Promise<void> {
    await this.#ask({ name: 'startAllocations', intervalBytes });
  }

  async stopAllocations<Profile>(): Promise<Profile> {
    return (await this.#ask({ name: 'stopAllocations' })) as Profile;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    if (this.#child.connected) {
      await this.#ask({ name: 'stop' }).catch(() => {});
      this.#child.disconnect();
    } else {
      this.#child.kill();
    }
    await exited;
  }

  async #ask(command: Command, timeoutMs = ANSWER_TIMEOUT_MS): Promise<unknown> {
    this.#lastId++;
    const answer = receive(this.#child, this.#lastId, this.name, timeoutMs);
    this.#child.send({ id: this.#lastId, command });
    return answer;
  }
}

/** The reply of the server to the command of an id; 0 is its first message, the port. */
async function receive(child: ChildProcess, id: number, name: string, timeoutMs = ANSWER_TIMEOUT_MS): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      child.off('message', onMessage).off('exit', onExit);
      clearTimeout(timeout);
      settle();
    };
    const onMessage = (message: Message): void => {
      if (message.id !== id) return;
      done(() =>
        message.error === undefined ? resolve(message.result) : reject(new Error(`${name}: ${message.error}`)),
      );
    };
    const onExit = (code: number | null): void =>
      done(() => reject(new Error(`The ${name} server ended with ${code}`)));
    const timeout = setTimeout(() => done(() => reject(new Error(`${name} does not answer`))), timeoutMs);
    child.on('message', onMessage).on('exit', onExit);
  });
}
