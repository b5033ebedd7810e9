import { useState } from 'preact/hooks';
import { forgetWithPerson } from './session.ts';
import { createStore, type Store, useStore } from './store.ts';

export type Values = Readonly<Record<string, unknown>>;

/** What somebody has entered into a form and not sent yet. */
export interface Entered {
  /** The values that were entered, by the names of their fields. */
  readonly edits: Values;
  /** The body as JSON, while it is edited so. */
  readonly json: string | undefined;
}

/** What was entered, and what it was entered over: the record as it was read then. */
interface Kept extends Entered {
  readonly base: unknown;
}

type Drafts = ReadonlyMap<string, Kept>;

/** The draft of one form. */
export interface Draft<Base = unknown> extends Entered {
  readonly base: Base;
  /** True if the form was gone meanwhile. */
  readonly isRestored: boolean;
  readonly enter: (change: (before: Entered) => Entered) => void;
  /** Forgets all of it. */
  readonly forget: () => void;
  /** Puts a form over another base, with values that were entered; those that were entered since stay too. */
  readonly rebase: (edits: Values, base: Base) => void;
  /** Forgets what was sent. What was entered since stands over a base of its own from then on. */
  readonly settle: (sent: Entered, base: Base) => void;
}

const NOTHING: Entered = { edits: {}, json: undefined };

/**
 * The drafts of this page. They stand outside of the forms, so that no form that is drawn anew, because of an answer that comes late,
 * a login that has ended or a look at another page, loses what somebody has entered.
 */
const drafts = createStore<Drafts>(new Map());

addEventListener('beforeunload', (event) => {
  if (drafts.get().size > 0) event.preventDefault();
});

forgetWithPerson(() => drafts.set(new Map()));

/** Tells if something was entered into a form. */
export function useIsEntered(key: string): boolean {
  return useStore(drafts).has(key);
}

/** Forgets the draft of one form. */
export function forgetDraft(key: string): void {
  drafts.set(new Map([...drafts.get()].filter(([name]) => name !== key)));
}

/**
 * Returns the draft of a form.
 *
 * @param key names the form; without one, nothing is kept for longer than the form is shown
 * @param base is what the form begins with, until somebody enters something
 */
export function useDraft<Base>(key: string | undefined, base: Base): Draft<Base> {
  const [localStore] = useState(() => createStore<Drafts>(new Map()));
  const store = key === undefined ? localStore : drafts;
  const name = key ?? '';
  const kept = useStore(store).get(name);
  const [isRestored] = useState(kept !== undefined);
  const current = (): Kept => store.get().get(name) ?? { ...NOTHING, base };
  return {
    ...(kept ?? NOTHING),
    base: (kept?.base ?? base) as Base,
    isRestored,
    enter: (change) => put(store, name, { ...current(), ...change(current()) }),
    forget: () => put(store, name, { ...NOTHING, base }),
    rebase: (edits, next) => {
      const { edits: since, json } = current();
      put(store, name, { edits: json === undefined ? { ...edits, ...since } : edits, json: undefined, base: next });
    },
    settle: (sent, next) => {
      const { edits, json } = current();
      const left = Object.entries(edits).filter(([field, value]) => sent.edits[field] !== value);
      put(store, name, { edits: Object.fromEntries(left), json: json === sent.json ? undefined : json, base: next });
    },
  };
}

function put(store: Store<Drafts>, name: string, kept: Kept): void {
  const next = new Map(store.get());
  next.delete(name);
  if (Object.keys(kept.edits).length > 0 || kept.json !== undefined) next.set(name, kept);
  store.set(next);
}
