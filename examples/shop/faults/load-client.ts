import type { Answer, ErrorBody } from '../test/support/http-client.ts';
import type { Shop } from '../test/support/shop.ts';
import { ADMIN } from '../test/support/shop.ts';
import type { Balancer } from './balancer.ts';
import type { Ledger } from './ledger.ts';
import type { Journal, Kind } from './journal.ts';

/** A request without a response after this time hangs. The shop's limit is 30 s. */
const HANG_MS = 30_000;
/** Between two requests of one client. */
const PAUSE_MS = 5;

/** One client of the load: it creates, changes, deletes and reads products, logs in, and requests codes. */
export class LoadClient {
  readonly #balancer: Balancer;
  readonly #journal: Journal;
  readonly #ledger: Ledger;
  readonly #token: string;
  readonly #name: string;
  readonly #ids: number[] = [];
  #turn = 0;

  constructor(name: string, token: string, parts: { balancer: Balancer; journal: Journal; ledger: Ledger }) {
    this.#name = name;
    this.#token = token;
    this.#balancer = parts.balancer;
    this.#journal = parts.journal;
    this.#ledger = parts.ledger;
  }

  /** Sends one request after the other until it is stopped; the last one has its response then. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#turn += 1;
      await this.#next();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  #next(): Promise<unknown> {
    const id = this.#ids[this.#turn % Math.max(1, this.#ids.length)];
    if (id === undefined) return this.#create();
    switch (this.#turn % 10) {
      case 0:
        return this.#create();
      case 1:
        return this.#ids.length > 5 ? this.#delete() : this.#create();
      case 2:
      case 3:
      case 4:
        return this.#change(id);
      case 5:
        return this.#send('read', 'GET', '/api/products?search=load&sort=-price&page_size=5');
      case 6:
        return this.#send('login', 'POST', '/api/auth/login', ADMIN);
      case 7:
        return this.#sendCode();
      default:
        return this.#send('read', 'GET', `/api/products/${id}`, undefined, this.#token);
    }
  }

  async #create(): Promise<void> {
    const product = { name: `load ${this.#name}`, price: 1 + (this.#turn % 90), stock: this.#turn };
    const answer = await this.#write('POST', '/api/products', product);
    if (answer?.status !== 201) return;
    const { id } = answer.body as unknown as { id: number };
    this.#ids.push(id);
    this.#ledger.created(id, product.stock);
  }

  /** An unacknowledged change may still be applied later, by a server that was unresponsive. Its record is not used again. */
  async #change(id: number): Promise<void> {
    const answer = await this.#write('PATCH', `/api/products/${id}`, { stock: this.#turn });
    if (answer?.status === 200) return this.#ledger.written(id, this.#turn);
    this.#ledger.unsure(id, this.#turn);
    this.#ids.splice(this.#ids.indexOf(id), 1);
  }

  /** A record is not used again after an attempt to delete it. */
  async #delete(): Promise<void> {
    const id = this.#ids.shift()!;
    const answer = await this.#write('DELETE', `/api/products/${id}`);
    if (answer?.status === 204) this.#ledger.written(id, undefined);
    else this.#ledger.unsure(id, undefined);
  }

  #sendCode(): Promise<Answer | undefined> {
    const email = `${this.#name}-${this.#turn}@example.com`;
    return this.#send('code', 'POST', '/api/auth/send-verification-email', { email });
  }

  #write(method: string, path: string, json?: object): Promise<Answer | undefined> {
    return this.#send('write', method, path, json, this.#token);
  }

  async #send(kind: Kind, method: string, path: string, json?: object, token?: string): Promise<Answer | undefined> {
    const shop = this.#balancer.next();
    const note = this.#journal.begin();
    const answer = await answerOf(shop, method, path, { token, ...(json === undefined ? {} : { json }) });
    note({
      kind,
      shop,
      status: answer?.status ?? 0,
      counted: answer?.headers.has('ratelimit-limit') ?? false,
      problem: answer === undefined ? undefined : problemOf(answer),
    });
    return answer;
  }
}

/** Undefined if the connection broke, or no response arrived in time. */
async function answerOf(shop: Shop, method: string, path: string, options: object): Promise<Answer | undefined> {
  try {
    return await shop.request(method, path, { ...options, signal: AbortSignal.timeout(HANG_MS) });
  } catch {
    return undefined;
  }
}

/** The problem of an error body, if it has one: it must have the documented form, and must not reveal internals. */
function problemOf({ status, body, text }: Answer): string | undefined {
  if (status < 400) return undefined;
  const { error, code, ...rest } = (body ?? {}) as Partial<ErrorBody>;
  const isContract = typeof error === 'string' && typeof code === 'string' && Object.keys(rest).length === 0;
  const isQuiet = !/ECONN|postgres|mongo|redis|mikro|terminat|timeout|\bat .+:\d+/i.test(text);
  const isNamed = status !== 503 || code === 'service_unavailable';
  return isContract && isQuiet && isNamed ? undefined : `${status} ${text}`;
}
