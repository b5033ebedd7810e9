import { createStore } from './store.ts';

/** The question for a login, another one each time; undefined if the page does not ask. */
export const loginQuestion = createStore<object | undefined>(undefined);

export function askForLogin(): void {
  loginQuestion.set({});
}
