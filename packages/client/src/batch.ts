import type { DataOf } from './client.ts';
import { views } from './create-client.ts';
import { type ApiRequest, RAW_BODIES } from './exchange.ts';
import type { CallOptions } from './options.ts';
import { type Key, kebabCase } from './url.ts';

/** A value from the answer of an earlier operation in a batch. Use it as a key or as a value in a body. */
export interface Ref<Value> {
  /** Exists only in the types. */
  readonly '~value'?: Value;
  /** Refers to a field of the value. */
  ref<Name extends FieldOf<Value>>(name: Name): Ref<Field<Value, Name>>;
}

/** An operation in a batch. It has no answer yet. */
export interface BatchedOperation<Data> {
  /** Exists only in the types. */
  readonly '~data'?: Data;
  /** Refers to a field of the answer, for later operations of the batch. */
  ref<Name extends FieldOf<Data>>(name: Name): Ref<Field<Data, Name>>;
}

type FieldOf<Data> = unknown extends Data
  ? string
  : Data extends readonly unknown[]
    ? number
    : keyof NonNullable<Data> & (string | number);
type Field<Data, Name> = unknown extends Data ? unknown : NonNullable<Data>[Name & keyof NonNullable<Data>];

/** A value, or a value that contains references. */
type Referring<Value> = Ref<Value> | Within<Value>;
type Within<Value> = Value extends string | number | bigint | boolean | null | undefined | Date | Blob | Function
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]: Referring<Value[Name]> }
    : Value;

/** The calls of a client. Each adds an operation to the batch. */
export type BatchCalls<Api> = { readonly [Path in keyof Api]: BatchedView<Api[Path]> };

type BatchedView<View> = (View extends (key: Key) => infer Below
  ? (key: Key | Ref<Key>) => BatchCalls<Below>
  : unknown) & {
  readonly [Name in Exclude<keyof View, 'each' | 'exportAs' | 'key'>]: BatchedCall<View[Name]>;
};

type BatchedCall<Call> = (Call extends (...args: infer Args) => Promise<unknown>
  ? (...args: { [Index in keyof Args]: Referring<Args[Index]> }) => BatchedOperation<DataOf<Call>>
  : unknown) & {
  readonly [Method in keyof Call & ('post' | 'put' | 'patch' | 'delete')]: BatchedCall<Call[Method]>;
};

/** The result of `make`, with answers instead of operations. */
export type AnswersOf<Result> =
  Result extends BatchedOperation<infer Data>
    ? Data
    : Result extends object
      ? { -readonly [Name in keyof Result]: AnswersOf<Result[Name]> }
      : Result;

/** The options of `batch()`: options of the request, and the view to send it to. */
export interface BatchCallOptions<View> extends CallOptions {
  /** The path of the batch view. Default: `batch`. */
  readonly view?: View | undefined;
  /** Returns the path of an action, like the client's option `actionPath`. Default: kebab-case. */
  readonly actionPath?: ((name: string) => string) | undefined;
}

/** Call options that only make sense for the whole request. */
const BATCH_OPTIONS = ['signal', 'timeoutMs', 'retries', 'token', 'fetch'] as const;

/** The part of a client that sends a batch. */
interface BatchResource {
  key(): readonly unknown[];
}

/** The response to a batch. */
interface Answers {
  readonly answers: readonly { readonly id: string; readonly body?: unknown }[];
}

interface Sent {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/**
 * Sends several operations in one request, which the server runs in one transaction (`@viewset/batch`): all are stored,
 * or none. `tx` has the calls of the client. Each call returns an operation, and later calls can refer to its fields.
 *
 * Rejects with the batch's ApiError if an operation fails; paths in `details` contain the operation's index,
 * `/operations/1/body/title`. Rejects with a TypeError, and sends nothing, if a batch cannot contain a call: files, an
 * export, `ifMatch: true`, or a request option such as `token`.
 *
 * @param make calls `tx`, and returns the operations whose answers you want: one, or an array or object of them
 * @example
 * const [tea, same] = await batch(api, (tx) => {
 *   const made = tx.products.create({ name: 'Tea', price: 3 });
 *   return [made, tx.products.update(made.ref('id'), { price: 4 })];
 * });
 * console.log(tea.id, same.price);
 */
export async function batch<
  Api extends { readonly [Name in View]: BatchResource },
  const Result extends object,
  const View extends string = 'batch',
>(api: Api, make: (tx: BatchCalls<Api>) => Result, options: BatchCallOptions<View> = {}): Promise<AnswersOf<Result>> {
  const { view = 'batch', actionPath = kebabCase, ...call } = options;
  const recording = new Recording(actionPath);
  const result = make(recording.calls as BatchCalls<Api>);
  if (result instanceof Promise) throw new TypeError('The function of a batch must return its operations at once');
  await recording.checked;
  const resource = api[view as View] as unknown as {
    create(body: object, options: CallOptions): Promise<Answers>;
  };
  const { answers } = await resource.create({ operations: recording.operations }, call);
  const byId = new Map(answers.map(({ id, body }) => [id, body]));
  return answered(result, (id) => byId.get(id)) as AnswersOf<Result>;
}

/** A reference to a value, or to a whole operation. */
class Reference {
  /** `o0` for an operation, `o0.id` for a field of its answer. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  ref(name: string | number): Reference {
    const isField = /^[^.{}]+$/.test(String(name));
    if (!isField) throw new TypeError(`${JSON.stringify(name)} is no field that a batch can refer to`);
    return new Reference(`${this.text}.${name}`);
  }
}

/** Records the calls of a client as the operations of a batch. */
class Recording {
  readonly operations: Sent[] = [];
  readonly calls: unknown;
  /** Rejects if a batch cannot contain one of the calls. */
  checked: Promise<unknown> = Promise.resolve();
  /** The references in the calls. Placeholder strings in the arguments contain their index. */
  readonly #references: string[] = [];
  /** The prefix of placeholders. It is random, so no user's string is mistaken for a placeholder. */
  readonly #mark = crypto.randomUUID();
  readonly #marked = new RegExp(`${this.#mark}_(\\d+)_`, 'g');

  constructor(actionPath: (name: string) => string) {
    const client = views((request) => this.#record(request), '', actionPath);
    this.calls = this.#recorded(client);
  }

  /** Wraps the client's objects and functions: arguments may contain references, and results are operations. */
  #recorded(target: object): unknown {
    return new Proxy(target, {
      get: (_target, name) => {
        const value: unknown = Reflect.get(target, name);
        return Object(value) === value ? this.#recorded(value as object) : value;
      },
      apply: (_target, _self, args: unknown[]) => {
        const before = this.operations.length;
        const result: unknown = Reflect.apply(
          target as () => unknown,
          undefined,
          args.map((value) => this.#marking(value)),
        );
        if (!(result instanceof Promise)) return this.#recorded(result as object);
        this.checked = Promise.all([this.checked, this.operations.length > before || result]);
        this.checked.catch(() => undefined);
        return new Reference(`o${before}`);
      },
    });
  }

  /** Replaces references with placeholders. */
  #marking(value: unknown): unknown {
    if (value instanceof Reference) return `${this.#mark}_${this.#references.push(value.text) - 1}_`;
    return mapped(value, (part) => this.#marking(part));
  }

  /** Adds an operation. The returned promise never resolves. */
  async #record({ method, url, isStreamed, body, options }: ApiRequest): Promise<never> {
    const { ifMatch, headers } = options;
    const batchOption = BATCH_OPTIONS.find((name) => options[name] !== undefined);
    if (batchOption !== undefined) throw new TypeError(`${batchOption} is an option of the whole batch`);
    if (isStreamed) throw new TypeError('A batch has no exports');
    if (ifMatch === true) throw new TypeError('ifMatch: a batch needs the ETag itself');
    // Inside a query parameter's JSON, the reference would only be part of a string.
    if (url.includes(`%22${this.#mark}`)) throw new TypeError('A batch cannot refer in an object of a query');
    const merged = { ...headers, ...(ifMatch !== undefined && { 'if-match': ifMatch }) };
    if (JSON.stringify(merged).includes(this.#mark)) throw new TypeError('A batch cannot refer in a header');
    this.operations.push({
      id: `o${this.operations.length}`,
      method,
      path: url.replaceAll(this.#marked, (_text, index: string) => `{${this.#references[Number(index)]}}`),
      ...(Object.keys(merged).length > 0 && { headers: merged }),
      ...(body !== undefined && { body: this.#written(body) }),
    });
    return new Promise<never>(() => {});
  }

  /** Writes references and data in the format of a batch. */
  #written(value: unknown): unknown {
    if (typeof value === 'string' && value.startsWith(this.#mark)) {
      return { $ref: value.replace(this.#marked, (_text, index: string) => this.#references[Number(index)]!) };
    }
    if (RAW_BODIES.some((kind) => value instanceof kind)) throw new TypeError('A batch has JSON alone');
    return mapped(
      value,
      (part) => this.#written(part),
      (key) => (/^\$+ref$/.test(key) ? `$${key}` : key),
    );
  }
}

/** Copies an array or plain object with changed parts; returns any other value unchanged. */
function mapped(value: unknown, change: (part: unknown) => unknown, rename = (key: string): string => key): unknown {
  if (Array.isArray(value)) return value.map(change);
  const kind: unknown = Object(value) === value ? Object.getPrototypeOf(value) : undefined;
  if (kind !== Object.prototype && kind !== null) return value;
  return Object.fromEntries(Object.entries(value as object).map(([key, part]) => [rename(key), change(part)]));
}

function answered(result: unknown, find: (id: string) => unknown): unknown {
  return result instanceof Reference ? find(result.text) : mapped(result, (part) => answered(part, find));
}
