import type { LiveList, LivePage } from '@viewset/core';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { eventsBetween, eventText } from './list-events.ts';
import { ListState } from './list-state.ts';

/** Text that has not gone out, in bytes, above which a connection is told nothing more until its client has read it. */
const MAX_WAITING_BYTES = 64 * 1024;
/** The shortest time after which a client should connect again, in milliseconds. It is up to twice as long, so that not all come at once. */
const RETRY_MS = 1000;

/** One client that follows one list. */
export class Connection {
  readonly list: LiveList;
  readonly body: Readable;
  /** True if the list may not be as the client knows it. */
  isDirty = false;
  /** True while its list is asked for. */
  isAsked = false;
  /** True if its list could not be asked for the last time. */
  isFailing = false;
  /** The time when the list was asked for last, in milliseconds. */
  askedAt = 0;
  isClosed = false;
  /** What the client knows; undefined before it was told anything. */
  #known: ListState | undefined;
  readonly #reply: FastifyReply;
  #saidAt = 0;

  /** @param onDrained called when the client has read what waited for it */
  constructor(reply: FastifyReply, list: LiveList, onDrained: () => void) {
    this.#reply = reply;
    this.list = list;
    const drained = (): void => {
      if (this.isDirty) onDrained();
    };
    this.body = new Readable({ read: drained });
    // The last of what waited is no longer in the body when it is sent.
    reply.raw.on('drain', drained);
  }

  /** True if the client was told the list, and knows what it was told. */
  get hasBegun(): boolean {
    return this.#known !== undefined;
  }

  /** True if the client has yet to read what it was sent. */
  get isSlow(): boolean {
    return this.body.readableLength + this.#reply.raw.writableLength > MAX_WAITING_BYTES;
  }

  /**
   * Begins with the whole list, or goes on from what the client knows.
   *
   * @param lastEventId of an earlier connection
   */
  begin(page: LivePage, lastEventId: string | undefined): void {
    const state = ListState.of(page);
    this.#say(`retry: ${Math.round(RETRY_MS * (1 + Math.random()))}\n\n`);
    const known = lastEventId === undefined ? undefined : ListState.parse(lastEventId);
    const isUnchanged = lastEventId === state.id;
    const event = lastEventId === undefined ? 'list' : 'reset';
    if (known !== undefined) this.#say(eventsBetween(known, state, page));
    else if (!isUnchanged) this.#say(eventText(event, page.json, state.id));
    this.#known = state;
  }

  /** Tells the client how the list has changed. */
  tell(state: ListState, eventsFrom: (known: ListState) => string): void {
    const known = this.#known;
    if (known === undefined) return;
    if (!known.isSameAs(state)) this.#say(eventsFrom(known));
    this.#known = state;
  }

  /** Sends a comment if nothing was sent since a time, so that nobody takes the connection for dead. */
  beat(since: number): void {
    if (this.#saidAt < since && !this.isSlow) this.#say(':\n\n');
  }

  /** Ends the connection, and tells the client not to come again. */
  refuse(reason: { readonly status: number; readonly code: string; readonly message: string }): void {
    this.#say(eventText('end', JSON.stringify(reason)));
    this.end();
  }

  /** Ends the connection. The client may come again, and goes on from what it knows. */
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
