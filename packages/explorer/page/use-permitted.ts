import { useEffect } from 'preact/hooks';
import { Refusal, send, writes } from './exchanges.ts';
import { rememberPermitted, session } from './session.ts';
import { useStore } from './store.ts';

const OPERATION = { id: 'permitted', method: 'OPTIONS' } as const;

/** Asks the API what the person may do at a place: once a place, and again after a login and after each write. */
export function usePermitted(path: string | undefined): void {
  const { token, turn } = useStore(session);
  const count = useStore(writes);
  useEffect(() => {
    if (path === undefined) return;
    const controller = new AbortController();
    const remember = (told: string | null): void => {
      if (controller.signal.aborted) return;
      rememberPermitted({ path, operations: told === null ? undefined : new Set(told.split(', ')) });
    };
    send({ operation: OPERATION, url: path, signal: controller.signal }).then(
      ({ headers }) => remember(headers.get('permitted-operations')),
      (error: unknown) => {
        if (error instanceof Refusal) remember(null);
      },
    );
    return () => controller.abort();
  }, [path, token, turn, count]);
}
