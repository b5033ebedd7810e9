import type { DataOf } from './client.ts';
import { views } from './create-client.ts';
import { type ApiRequest, RAW_BODIES } from './exchange.ts';
import type { CallOptions } from './options.ts';
import { type Key, kebabCase } from './url.ts';

/** A value that an earlier operation of a batch will answer with. It stands in the place of a key or a value of a body. */
export interface Ref<Value> {
  /** Only for the types. */
  readonly '~value'?: Value;
  /** Refers to a field of the value. */
  ref<Name extends FieldOf<Value>>(name: Name): Ref<Field<Value, Name>>;
}

/** An operation of a batch. It has no answer yet. */
export interface BatchedOperation<Data> {
  /** Only for the types. */
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

/** A value, or one in which references stand. */
type Referring<Value> = Ref<Value> | Within<Value>;
type Within<Value> = Value extends string | number | bigint | boolean | null | undefined | Date | Blob | Function
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]: Referring<Value[Name]> }
    : Value;

/** The calls of a client, each of which adds an operation to a batch. */
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

/** The answers in the places of their operations. */
export type AnswersOf<Result> =
  Result extends BatchedOperation<infer Data>
    ? Data
    : Result extends object
      ? { -readonly [Name in keyof Result]: AnswersOf<Result[Name]> }
      : Result;

/** The options of `batch()`: those of the one request, and where to send it. */
export interface BatchCallOptions<View> extends CallOptions {
  /** The path of the view that takes batches. Default: `batch`. */
  readonly view?: View | undefined;
  /** Returns the path of an action by its name, as the client's option of that name. Default: kebab-case. */
  readonly actionPath?: ((name: string) => string) | undefined;
}

/** The options of a call that say something about a request of its own. */
const OF_WHOLE = ['signal', 'timeoutMs', 'retries', 'token', 'fetch'] as const;

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
 * Sends several operations in one request, which the server runs in one transaction (`@viewset/batch`): all are stored, or none. The calls of
 * `tx` are those of the client. They answer with operations, whose fields later calls may refer to.
 *
 * Rejects with the ApiError of the batch if an operation fails; `details` has the index of each, `/operations/1/body/title`. Rejects with a
 * TypeError, and sends nothing, if a call is none that a batch can have: with files, an export, `ifMatch: true`, or an option of a request such as
 * `token`.
 *
 * @param make calls `tx`, and returns the operations whose answers are asked for: one, or an array or object of them
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

/** A reference, or an operation that has its beginning. */
class Reference {
  /** `o0.id`; of an operation `o0`. */
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

/** The operations of a batch, as the calls of a client add them. */
class Recording {
  readonly operations: Sent[] = [];
  readonly calls: unknown;
  /** Rejects if a call was not what a batch can have. */
  checked: Promise<unknown> = Promise.resolve();
  /** The references in the calls, which texts stand for by their numbers. */
  readonly #references: string[] = [];
  /** The beginning of these texts. Nobody can guess it, so that no text of a user is taken for one. */
  readonly #mark = crypto.randomUUID();
  readonly #marked = new RegExp(`${this.#mark}_(\\d+)_`, 'g');

  constructor(actionPath: (name: string) => string) {
    const client = views((request) => this.#record(request), '', actionPath);
    this.calls = this.#recorded(client);
  }

  /** The client's objects and functions, with references among the arguments and operations as the answers. */
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

  /** Puts texts in the place of references. */
  #marking(value: unknown): unknown {
    if (value instanceof Reference) return `${this.#mark}_${this.#references.push(value.text) - 1}_`;
    return mapped(value, (part) => this.#marking(part));
  }

  /** Adds an operation. Nobody waits for the answer. */
  async #record({ method, url, isStreamed, body, options }: ApiRequest): Promise<never> {
    const { ifMatch, headers } = options;
    const ofWhole = OF_WHOLE.find((name) => options[name] !== undefined);
    if (ofWhole !== undefined) throw new TypeError(`${ofWhole} is an option of the whole batch`);
    if (isStreamed) throw new TypeError('A batch has no exports');
    if (ifMatch === true) throw new TypeError('ifMatch: a batch needs the ETag itself');
    // In the JSON of a query, the value would stand in the midst of a text.
    if (url.includes(`%22${this.#mark}`)) throw new TypeError('A batch cannot refer in an object of a query');
    const own = { ...headers, ...(ifMatch !== undefined && { 'if-match': ifMatch }) };
    if (JSON.stringify(own).includes(this.#mark)) throw new TypeError('A batch cannot refer in a header');
    this.operations.push({
      id: `o${this.operations.length}`,
      method,
      path: url.replaceAll(this.#marked, (_text, index: string) => `{${this.#references[Number(index)]}}`),
      ...(Object.keys(own).length > 0 && { headers: own }),
      ...(body !== undefined && { body: this.#written(body) }),
    });
    return new Promise<never>(() => {});
  }

  /** Writes references and data as a batch has them. */
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

/** Makes an array or a plain object of changed parts; any other value stays as it is. */
function mapped(value: unknown, change: (part: unknown) => unknown, rename = (key: string): string => key): unknown {
  if (Array.isArray(value)) return value.map(change);
  const kind: unknown = Object(value) === value ? Object.getPrototypeOf(value) : undefined;
  if (kind !== Object.prototype && kind !== null) return value;
  return Object.fromEntries(Object.entries(value as object).map(([key, part]) => [rename(key), change(part)]));
}

function answered(result: unknown, find: (id: string) => unknown): unknown {
  return result instanceof Reference ? find(result.text) : mapped(result, (part) => answered(part, find));
}
