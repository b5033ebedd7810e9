import { useRef } from 'preact/hooks';
import { fillPath, type Operation } from './api-model.ts';
import { isOffered, isUndecided } from './permissions.ts';
import { session } from './session.ts';
import { useStore } from './store.ts';

/** The state of the form of an operation: nobody asks for it, the API has not said yet if it is permitted, or has. */
export type FormState = 'none' | 'undecided' | 'refused' | 'shown';

/**
 * Tells if the form of an operation is shown: if it was offered since the last login or logout. Neither a refusal nor the end of the
 * login takes it away again, with what was entered and with what the server has said.
 *
 * @param operation is undefined if nobody asks for the form
 */
export function useFormState(operation: Operation | undefined, path: string): FormState {
  const person = useStore(session);
  const offered = useRef<string | undefined>(undefined);
  if (operation === undefined) {
    offered.current = undefined;
    return 'none';
  }
  const at = fillPath(operation.path, path);
  const form = `${person.turn} ${operation.id}`;
  if (isOffered(operation, person, at)) offered.current = form;
  if (offered.current === form) return 'shown';
  return isUndecided(operation, person, at) ? 'undecided' : 'refused';
}
