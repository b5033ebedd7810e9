import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';

const COMPILER = join(fileURLToPath(import.meta.resolve('typescript/package.json')), '../lib/tsc.js');

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly items?: readonly unknown[] };
  readonly result?: unknown;
}

/** A place in a file, both counted from 0. */
export interface Position {
  readonly line: number;
  readonly character: number;
}

interface Location {
  readonly uri: string;
  readonly range: { readonly start: Position };
}

/** A line of a file. */
export interface Place {
  readonly file: string;
  readonly line: string;
}

/** The language server of TypeScript 7, as an editor talks to it. */
export class LanguageServer {
  readonly #folder: string;
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #received: Buffer = Buffer.alloc(0);
  #lastId = 0;
  #version = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.#process = spawn(process.execPath, [COMPILER, '--lsp', '--stdio'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#process.stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  async open(uri: string, text: string): Promise<void> {
    await this.#ask('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(this.#folder).href,
      capabilities: {},
    });
    this.#send({ method: 'initialized', params: {} });
    const textDocument = { uri, languageId: 'typescript', version: ++this.#version, text };
    this.#send({ method: 'textDocument/didOpen', params: { textDocument } });
  }

  change(uri: string, text: string): void {
    const textDocument = { uri, version: ++this.#version };
    this.#send({ method: 'textDocument/didChange', params: { textDocument, contentChanges: [{ text }] } });
  }

  async completions(uri: string, position: Position): Promise<string[]> {
    const result = await this.#ask('textDocument/completion', { textDocument: { uri }, position });
    const { items } = (Array.isArray(result) ? { items: result } : (result ?? { items: [] })) as {
      items: readonly { label: string }[];
    };
    return items.map(({ label }) => label);
  }

  /** Returns the definitions of a position: files and the text of their lines. */
  async definitions(uri: string, position: Position): Promise<Place[]> {
    const result = await this.#ask('textDocument/definition', { textDocument: { uri }, position });
    const found = (Array.isArray(result) ? result : [result ?? []].flat()) as readonly Location[];
    return found.map(({ uri: target, range }) => {
      const file = fileURLToPath(target);
      return { file, line: readFileSync(file, 'utf8').split('\n')[range.start.line]!.trim() };
    });
  }

  close(): void {
    this.#process.kill();
  }

  #ask(method: string, params: object): Promise<unknown> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, resolve);
    this.#send({ id, method, params });
    return promise;
  }

  #send(message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  #receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(this.#received.toString('utf8', 0, end))?.[1]);
      const start = end + 4;
      if (this.#received.length < start + length) return;
      this.#hear(JSON.parse(this.#received.toString('utf8', start, start + length)) as Message);
      this.#received = this.#received.subarray(start + length);
    }
  }

  #hear({ id, method, params, result }: Message): void {
    if (id === undefined) return;
    if (method === undefined) this.#waiting.get(id)?.(result);
    // The server requests settings, and continues without them.
    else this.#send({ id, result: params?.items?.map(() => null) ?? null });
  }
}
