import { useEffect, useRef, useState } from 'preact/hooks';
import type { Operation } from './api-model.ts';
import { followList, type Refusal } from './exchanges.ts';
import type * as liveScript from './live.ts';
import { loadScript } from './load-script.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { unwrapped } from './wire-names.ts';

/** The wait after which a lost connection is made again, in milliseconds. */
const RETRY_MS = 5000;

/**
 * Follows a list that the API sends live, while somebody can see the page: a browser has few connections to one server.
 *
 * @param url undefined if there is nothing to follow yet
 * @param show is given each new list, as a GET would answer it
 * @returns true if changes show by themselves
 */
export function useLive(list: Operation, url: string | undefined, show: (body: unknown) => void): boolean {
  const { turn } = useStore(session);
  const isVisible = useVisible();
  const [isLive, setLive] = useState(false);
  const latest = useRef(show);
  latest.current = show;
  useEffect(() => {
    if (!list.isLive || url === undefined || !isVisible) return;
    const controller = new AbortController();
    const { signal } = controller;
    void follow(list, url, signal, (body) => {
      if (signal.aborted) return;
      setLive(body !== undefined);
      if (body !== undefined) latest.current(body);
    });
    return () => {
      controller.abort();
      setLive(false);
    };
  }, [list.id, url, turn, isVisible]);
  return isLive;
}

/** Shows each list, and undefined after the connection was lost. Ends when the API refuses it, or answers with no stream. */
async function follow(list: Operation, url: string, signal: AbortSignal, show: (body: unknown) => void): Promise<void> {
  const { watch } = await loadScript<typeof liveScript>('live');
  const view = { list: (_query: unknown, options: object) => followList(list, url, options) };
  for (; !signal.aborted; await new Promise((resolve) => setTimeout(resolve, RETRY_MS))) {
    try {
      for await (const body of watch(view, undefined, { signal })) show(unwrapped(body, list.wire));
    } catch (error) {
      show(undefined);
      const { status = 400 } = error as Partial<Refusal>;
      if (status >= 400 && status < 500 && status !== 429) return;
    }
  }
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const changed = (): void => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', changed);
    return () => document.removeEventListener('visibilitychange', changed);
  }, []);
  return isVisible;
}
