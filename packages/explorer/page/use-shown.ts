import { useRef } from 'preact/hooks';
import { session } from './session.ts';
import { useStore } from './store.ts';

/**
 * Tells if a form is shown: if it is wanted and was offered to the person who is logged in. A refusal does not take it away
 * again, with what was entered and with what the server has said.
 */
export function useShown(isWanted: boolean, isOffered: boolean): boolean {
  const { token } = useStore(session);
  const offered = useRef<{ readonly to: string | undefined } | undefined>(undefined);
  if (!isWanted) offered.current = undefined;
  else if (isOffered) offered.current = { to: token };
  return isWanted && offered.current !== undefined && offered.current.to === token;
}
