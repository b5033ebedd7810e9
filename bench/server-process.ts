import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { pinned, type Cores } from './cores.ts';
import type { Answer, Command, ServerSettings, Usage } from './servers/serve.ts';

/** The four servers, from the least that one can do to the most. */
export const SERVER_NAMES = ['floor', 'raw', 'hand', 'ours'] as const;
export type ServerName = (typeof SERVER_NAMES)[number];

type Message = { readonly id: number; readonly result?: unknown; readonly error?: string };

const START_TIMEOUT_MS = 30_000;

/** One of the servers, in a process of its own, on a core of its own. */
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

  async startProfile(intervalMicroseconds: number): Promise<void> {
    await this.#ask({ name: 'startProfile', intervalMicroseconds });
  }

  async stopProfile<Profile>(): Promise<Profile> {
    return (await this.#ask({ name: 'stopProfile' })) as Profile;
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

  async #ask(command: Command): Promise<unknown> {
    this.#lastId++;
    const answer = receive(this.#child, this.#lastId, this.name);
    this.#child.send({ id: this.#lastId, command });
    return answer;
  }
}

/** What the server says to the command of an id; 0 is its first word, the port. */
async function receive(child: ChildProcess, id: number, name: string): Promise<unknown> {
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
    const timeout = setTimeout(() => done(() => reject(new Error(`${name} does not answer`))), START_TIMEOUT_MS);
    child.on('message', onMessage).on('exit', onExit);
  });
}
