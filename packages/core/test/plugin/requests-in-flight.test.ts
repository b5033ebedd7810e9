/** Random lives of many requests, against a count of those that work: no slot is lost, and none is given twice. */
import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import t from 'tap';
import { type RequestInFlight, RequestsInFlight } from '../../src/plugin/requests-in-flight.ts';

const WALKS = 300;
const STEPS = 120;
const TICKS = 3;

/** One request, its connection and its handler. */
class Life {
  readonly raw = Object.assign(new EventEmitter(), {
    headersSent: false,
    socket: { bytesWritten: 0, writableLength: 0 },
    writableLength: 0,
    end: () => this.raw,
  });
  readonly reply = { raw: this.raw, sent: false, request: {} };
  readonly entered: RequestInFlight;
  thenOrCatch: (() => void) | undefined;
  hasBody = false;
  #isHandled = false;
  #isClosed = false;

  constructor(all: RequestsInFlight, takesSlot: boolean) {
    this.entered = all.enter(this.reply as unknown as FastifyReply, takesSlot);
  }

  answer(): void {
    this.reply.sent = this.raw.headersSent = true;
    this.raw.end();
  }

  close(): void {
    if (!this.#isClosed) this.raw.emit('close');
    this.#isClosed = true;
  }

  handle(all: RequestsInFlight, returns: 'promise' | 'reply' | 'nothing'): void {
    if (this.#isHandled || this.#isClosed || this.entered.phase !== 'working') return;
    this.#isHandled = true;
    this.hasBody = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.thenOrCatch = resolve;
    all.beginWork(this.entered, { promise, reply: this.reply, nothing: undefined }[returns]);
  }
}

/** Numbers from 0 to below a limit, the same for the same seed. */
function numbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

class Walk {
  readonly #random: (limit: number) => number;
  readonly #slots: number;
  readonly #all: RequestsInFlight;
  readonly #lives: Life[] = [];
  #ticks = 0;
  readonly #acts: ((life: Life) => unknown)[] = [
    (life) => this.#beginBody(life),
    (life) => this.#all.endBody(life.entered),
    (life) => life.handle(this.#all, (['promise', 'reply', 'nothing'] as const)[this.#random(3)]!),
    (life) => life.answer(),
    (life) => {
      life.answer();
      life.raw.writableLength = 1;
      this.#readSlowly();
    },
    (life) => life.close(),
    async (life) => {
      life.thenOrCatch?.();
      await turn();
    },
    () => this.#tick(),
  ];

  constructor(seed: number) {
    this.#random = numbers(seed);
    this.#slots = 1 + this.#random(4);
    this.#all = new RequestsInFlight(this.#slots, () => {});
  }

  /** Returns the first fault. */
  async run(): Promise<string | undefined> {
    for (let step = 0; step < STEPS; step++) {
      const act = this.#acts[this.#random(this.#acts.length + 2)];
      const life = this.#lives[this.#random(this.#lives.length)];
      if (act === undefined || life === undefined) this.#enter();
      else await act(life);
      const fault = this.#fault();
      if (fault !== undefined) return `step ${step}: ${fault}`;
    }
    for (const life of this.#lives) {
      this.#end(life);
      life.thenOrCatch?.();
    }
    await turn();
    return this.#lives.every(({ entered }) => entered.phase === 'left') ? undefined : 'one never left';
  }

  #enter(): void {
    const takesSlot = this.#random(5) > 0;
    if (!takesSlot || !this.#all.isFull) this.#lives.push(new Life(this.#all, takesSlot));
  }

  #beginBody(life: Life): void {
    if (life.hasBody) return;
    life.hasBody = true;
    const slowest = this.#all.beginBody(life.entered);
    if (slowest !== undefined) this.#end(this.#lifeOf(slowest));
  }

  #readSlowly(): void {
    for (const slow of this.#all.slowReaders({ ticks: TICKS, bytes: 1 })) this.#end(this.#lifeOf(slow));
  }

  #tick(): void {
    this.#all.tick();
    this.#ticks += 1;
    for (const late of this.#all.giveUpOlderThan(TICKS)) {
      if (this.#random(4) > 0) this.#end(this.#lifeOf(late));
    }
  }

  #fault(): string | undefined {
    const working = this.#lives.filter(({ entered }) => entered.takesSlot && entered.phase === 'working').length;
    if (working > this.#slots) return `${working} of ${this.#slots} work`;
    const { isFull } = this.#all;
    if (isFull !== (working === this.#slots)) return `${working} of ${this.#slots} work, full: ${isFull}`;
    const isForgotten = ({ entered: { phase, since }, reply }: Life): boolean =>
      phase !== 'left' && !reply.sent && this.#ticks - since > TICKS;
    return this.#lives.some(isForgotten) ? 'one is never given up' : undefined;
  }

  #lifeOf(request: RequestInFlight): Life {
    return this.#lives.find(({ entered }) => entered === request)!;
  }

  #end(life: Life): void {
    life.answer();
    life.close();
  }
}

t.test('a slot is taken by each request that works, and by nothing else', async (t) => {
  for (let seed = 1; seed <= WALKS; seed++) t.equal(await new Walk(seed).run(), undefined, `walk ${seed}`);
});
