import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Operation } from './api-model.ts';
import { type Answer, Refusal, send } from './exchanges.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';

/** What is known of an answer that a component waits for. The last good one stays until the next is there. */
export interface Awaited {
  readonly answer: Answer | undefined;
  readonly refusal: Refusal | undefined;
  readonly isWaiting: boolean;
  /** Reads again. */
  readonly reload: () => void;
  /** Shows the body of a newer answer, which came by itself. One that is on its way is older. */
  readonly show: (body: unknown) => void;
  /** Reads again, as if nothing had been read yet. */
  readonly restart: () => void;
}

/**
 * Reads a URL, and again when it changes, and after each login and logout.
 *
 * @param fits tells if the body of an answer is what can be shown
 */
export function useAnswer(operation: Operation | undefined, url: string, fits: (body: unknown) => boolean): Awaited {
  const person = useStore(session);
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Awaited, 'reload' | 'restart' | 'show'>>(WAITING);
  const reader = useRef(person.turn);
  const reading = useRef<AbortController>(undefined);
  const isOutdated = useRef(false);
  useEffect(() => {
    if (operation === undefined) return;
    const controller = (reading.current = new AbortController());
    // What one person may see is not shown to the next, however long the server takes.
    const isSame = reader.current === person.turn;
    reader.current = person.turn;
    isOutdated.current = false;
    setState(({ answer }) => ({ ...WAITING, answer: isSame ? answer : undefined }));
    const settle = (found: Pick<Awaited, 'answer' | 'refusal'>): void => {
      if (!controller.signal.aborted && !isOutdated.current) setState({ ...found, isWaiting: false });
    };
    send({ operation, url, signal: controller.signal }).then(
      (answer) =>
        settle(
          fits(answer.body)
            ? { answer, refusal: undefined }
            : { answer: undefined, refusal: new Refusal(200, 'unreadable', texts.unreadable) },
        ),
      (error: unknown) => settle({ answer: undefined, refusal: error instanceof Refusal ? error : undefined }),
    );
    return () => controller.abort();
  }, [operation?.id, url, person.turn, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const restart = useCallback(() => {
    reading.current?.abort();
    setState(WAITING);
    reload();
  }, []);
  const show = useCallback((body: unknown) => {
    isOutdated.current = true;
    setState(({ answer = UNASKED }) => ({ answer: { ...answer, body }, refusal: undefined, isWaiting: false }));
  }, []);
  return { ...state, reload, restart, show };
}

const UNASKED: Answer = { body: undefined, headers: new Headers(), status: '' };

const WAITING = { answer: undefined, refusal: undefined, isWaiting: true };
