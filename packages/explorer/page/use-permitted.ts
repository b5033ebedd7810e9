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
    const remember = (received: Headers): void => {
      if (controller.signal.aborted) return;
      const operations = received.get('permitted-operations')?.split(', ');
      const shapes = (received.get('permitted-shapes')?.split(', ') ?? []).map((each) => {
        const [id = '', name = ''] = each.split('=');
        return [id, decodeURIComponent(name)] as const;
      });
      rememberPermitted({ path, operations: operations && new Set(operations), shapes: new Map(shapes) });
    };
    send({ operation: OPERATION, url: path, signal: controller.signal }).then(
      ({ headers }) => remember(headers),
      (error: unknown) => {
        if (error instanceof Refusal) remember(new Headers());
      },
    );
    return () => controller.abort();
  }, [path, token, turn, count]);
}
