import type { LivePage, LiveRecord } from '@viewset/core';
import { ListState } from './list-state.ts';

/** Writes an event in the format of Server-Sent Events (HTML, section 9.2). JSON contains no line breaks. */
export function eventText(event: string, data: string, id?: string): string {
  return `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
}

/**
 * Writes the events that turn the client's list into the current one: first records leave, then others enter or change
 * in the list's order, then the rest changes. `index` is the place where a record is inserted or removed; `from` is the
 * previous place of a changed record.
 *
 * Each event has the id of the state it leads to, so a client that missed some events can continue after its last one.
 * In lists too long for such ids, only the last event has one. The same applies to the events of a change after the
 * first `MAX_IDS_LENGTH` characters of ids. A client that missed the last event gets the whole list.
 */
export function eventsBetween(known: ListState, state: ListState, page: LivePage): string {
  const change = new Change(known, known.isLong || state.isLong);
  const remaining = new Set(state.keys);
  for (const key of known.keys) if (!remaining.has(key)) change.leave(key);
  const staying = keptInOrder(
    known.keys.filter((key) => remaining.has(key)),
    state.keys,
  );
  for (const [index, record] of page.records.entries()) {
    const { key } = record;
    const digest = state.digestOf(key)!;
    const stays = staying.has(key);
    if (stays && known.digestOf(key) === digest) continue;
    change.put(record, digest, stays ? change.placeOf(key) : change.placeBehind(page.records[index - 1]?.key, key));
  }
  if (known.mark !== state.mark) change.finish(page.rest, state.mark);
  return change.textTo(state);
}

/** The id of an event that leads to a state without an id. It is not the id of any state. */
const UNFINISHED = 'unfinished';
/**
 * The most characters of ids in one change. An id is as long as all keys of its list, so without a limit the text of a
 * change grows with the square of the list, also for a state that a client has made up.
 */
const MAX_IDS_LENGTH = 16_384;

/** The events of a change, and the state they lead to. */
class Change {
  readonly #events: { readonly event: string; readonly data: string; readonly id: string }[] = [];
  #idsLeft: number;
  readonly #keys: string[];
  readonly #digests: Map<string, string>;
  #mark: string;

  constructor(known: ListState, isLong: boolean) {
    this.#idsLeft = isLong ? 0 : MAX_IDS_LENGTH;
    this.#keys = [...known.keys];
    this.#digests = new Map(known.keys.map((key) => [key, known.digestOf(key)!]));
    this.#mark = known.mark;
  }

  placeOf(key: string): number {
    return this.#keys.indexOf(key);
  }

  /** Returns the place after the record `before`, once the record `key` is removed from its current place. */
  placeBehind(before: string | undefined, key: string): number {
    if (before === undefined) return 0;
    const place = this.placeOf(before) + 1;
    const current = this.placeOf(key);
    return current !== -1 && current < place ? place - 1 : place;
  }

  leave(key: string): void {
    const index = this.#take(key);
    this.#digests.delete(key);
    this.#write('leave', `{"key":${JSON.stringify(key)},"index":${index}}`);
  }

  /** Inserts a record at a place, after removing it from its current one. */
  put({ key, json }: LiveRecord, digest: string, place: number): void {
    const from = this.#take(key);
    this.#keys.splice(place, 0, key);
    this.#digests.set(key, digest);
    const name = JSON.stringify(key);
    if (from === -1) this.#write('enter', `{"key":${name},"index":${place},"record":${json}}`);
    else this.#write('change', `{"key":${name},"from":${from},"index":${place},"record":${json}}`);
  }

  finish(rest: string, mark: string): void {
    this.#mark = mark;
    this.#write('count', rest);
  }

  #take(key: string): number {
    const place = this.placeOf(key);
    if (place !== -1) this.#keys.splice(place, 1);
    return place;
  }

  /** Returns the text of all events. The last one leads to the given state. */
  textTo({ id }: ListState): string {
    const last = this.#events.length - 1;
    return this.#events.map((each, index) => eventText(each.event, each.data, index === last ? id : each.id)).join('');
  }

  #write(event: string, data: string): void {
    this.#events.push({ event, data, id: this.#nextId() });
  }

  #nextId(): string {
    if (this.#idsLeft <= 0) return UNFINISHED;
    const { id } = this.#state;
    this.#idsLeft -= id.length;
    return id;
  }

  get #state(): ListState {
    return new ListState(
      this.#keys.map((key) => [key, this.#digests.get(key)!]),
      this.#mark,
    );
  }
}

/**
 * Returns as many records as possible that can stay while the others move: a longest increasing subsequence of their
 * new places.
 */
export function keptInOrder(known: readonly string[], wanted: readonly string[]): ReadonlySet<string> {
  const places = new Map(wanted.map((key, index) => [key, index]));
  const tails: string[] = [];
  const previous = new Map<string, string | undefined>();
  for (const key of known) {
    const place = places.get(key)!;
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places.get(tails[middle]!)! < place) low = middle + 1;
      else high = middle;
    }
    previous.set(key, tails[low - 1]);
    tails[low] = key;
  }
  const kept = new Set<string>();
  for (let key = tails.at(-1); key !== undefined; key = previous.get(key)) kept.add(key);
  return kept;
}
