import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Operation } from './api-model.ts';
import { type Answer, Refusal, send } from './exchanges.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';

/** What is known of an answer that a component waits for. The last good one stays until the next is there. */
export interface Awaited {
  readonly answer: Answer | undefined;
  readonly refusal: Refusal | undefined;
  readonly isWaiting: boolean;
  readonly isSlow: boolean;
  readonly reload: () => void;
}

/** The time after which a server counts as slow, in milliseconds. */
const SLOW_MS = 2000;

/** Reads a URL, and again when it, or the person who is logged in, changes. */
export function useAnswer(operation: Operation | undefined, url: string): Awaited {
  const { token } = useStore(session);
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Awaited, 'reload'>>(WAITING);
  useEffect(() => {
    if (operation === undefined) return;
    const controller = new AbortController();
    setState(({ answer }) => ({ ...WAITING, answer }));
    const slow = setTimeout(() => setState((before) => ({ ...before, isSlow: true })), SLOW_MS);
    const settle = (found: Pick<Awaited, 'answer' | 'refusal'>): void => {
      clearTimeout(slow);
      if (!controller.signal.aborted) setState({ ...found, isWaiting: false, isSlow: false });
    };
    send({ operation, url, signal: controller.signal }).then(
      (answer) => settle({ answer, refusal: undefined }),
      (error: unknown) => settle({ answer: undefined, refusal: error instanceof Refusal ? error : undefined }),
    );
    return () => {
      clearTimeout(slow);
      controller.abort();
    };
  }, [operation?.id, url, token, turn]);
  return { ...state, reload: useCallback(() => setTurn((before) => before + 1), []) };
}

const WAITING = { answer: undefined, refusal: undefined, isWaiting: true, isSlow: false };
