import type { LiveList, LivePage } from '@viewset/core';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { eventsBetween, eventText } from './list-events.ts';
import { ListState } from './list-state.ts';

/** If more unsent text than this waits, in bytes, the connection gets no more events until its client has read it. */
const MAX_WAITING_BYTES = 64 * 1024;
/**
 * The shortest time before a client reconnects, in milliseconds. It is randomly up to twice as long, so that clients do
 * not all come at once.
 */
const RETRY_MS = 1000;

/** One client that follows one list. */
export class Connection {
  readonly list: LiveList;
  readonly body: Readable;
  /** True if the client's list may be outdated. */
  isDirty = false;
  /** True while its list is being read. */
  isReading = false;
  /** True if the last read of its list failed. */
  isFailing = false;
  /** When the list was last requested, in milliseconds. */
  readAt = 0;
  isClosed = false;
  /** The state that the client has; undefined before the first event. */
  #known: ListState | undefined;
  readonly #reply: FastifyReply;
  #saidAt = 0;

  /** @param onDrained called when the client has read all waiting text */
  constructor(reply: FastifyReply, list: LiveList, onDrained: () => void) {
    this.#reply = reply;
    this.list = list;
    const drained = (): void => {
      if (this.isDirty) onDrained();
    };
    this.body = new Readable({ read: drained });
    // The last waiting text leaves the body before it is sent, so the response's `drain` is needed too.
    reply.raw.on('drain', drained);
  }

  /** True if the client has received the list. */
  get hasBegun(): boolean {
    return this.#known !== undefined;
  }

  /** True if the client has not yet read all it was sent. */
  get isSlow(): boolean {
    return this.body.readableLength + this.#reply.raw.writableLength > MAX_WAITING_BYTES;
  }

  /**
   * Begins with the whole list, or continues from the client's state.
   *
   * @param lastEventId the last event of an earlier connection
   */
  begin(page: LivePage, lastEventId: string | undefined): void {
    const state = ListState.of(page);
    this.#say(`retry: ${Math.round(RETRY_MS * (1 + Math.random()))}\n\n`);
    // No id tells of a long list, and the difference from one that is made up would take long to work out.
    const known = lastEventId === undefined || state.isLong ? undefined : ListState.parse(lastEventId);
    const isUnchanged = lastEventId === state.id;
    const event = lastEventId === undefined ? 'list' : 'reset';
    if (known !== undefined) this.#say(eventsBetween(known, state, page));
    else if (!isUnchanged) this.#say(eventText(event, page.json, state.id));
    this.#known = state;
  }

  /** Sends the client the changes of the list. */
  notify(state: ListState, eventsFrom: (known: ListState) => string): void {
    const known = this.#known;
    if (known === undefined) return;
    if (!known.isSameAs(state)) this.#say(eventsFrom(known));
    this.#known = state;
  }

  /** Sends a comment if nothing was sent since a time, so that the connection does not look dead. */
  beat(since: number): void {
    if (this.#saidAt < since && !this.isSlow) this.#say(':\n\n');
  }

  /** Ends the connection, and tells the client not to reconnect. */
  refuse(reason: { readonly status: number; readonly code: string; readonly message: string }): void {
    this.#say(eventText('end', JSON.stringify(reason)));
    this.end();
  }

  /** Ends the connection. The client may reconnect, and continues from its state. */
  end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.body.push(null);
  }

  #say(text: string): void {
    if (text === '' || this.isClosed) return;
    this.#saidAt = Date.now();
    this.body.push(text);
  }
}
