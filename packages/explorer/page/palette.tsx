import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { accountPages } from './account-operations.ts';
import { accountHref, type Api, hasPage, type Operation, recordPathOf, type Resource } from './api-model.ts';
import { Refusal, send } from './exchanges.ts';
import { hasParameter, urlOfFirst } from './list-query.ts';
import { navigate } from './location.ts';
import { isOffered } from './permissions.ts';
import { rowsOf, titleOf } from './records.ts';
import { type Session, session } from './session.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { shortened } from './words.ts';

/** A place that the palette leads to. */
interface Entry {
  readonly label: string;
  /** What kind of place it is. */
  readonly kind: string;
  readonly href: string;
}

/** The time between the last letter and the search for records, in milliseconds. */
const PAUSE_MS = 200;
/** As many collections are searched, and as many records of each are shown. */
const MAX_SEARCHED = 6;
const RECORDS_EACH = 4;

/** Leads to every place of the API by a few letters. Ctrl or ⌘ with K opens it. */
export function Palette({ api }: { readonly api: Api }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const open = (event: KeyboardEvent): void => {
      const isShortcut = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
      if (!isShortcut || document.querySelector('dialog:modal') !== null) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', open);
    return () => removeEventListener('keydown', open);
  }, []);
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  return (
    <>
      <button type="button" class="go-to" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen(true)}>
        <span>{texts.goTo}</span>
        <kbd aria-hidden="true">{texts.goToKeys(/Mac|iP/.test(navigator.platform))}</kbd>
      </button>
      <dialog ref={dialog} class="palette" aria-label={texts.goTo} onClose={() => setOpen(false)}>
        {isOpen && <Search api={api} onDone={() => dialog.current?.close()} />}
      </dialog>
    </>
  );
}

function Search({ api, onDone }: { readonly api: Api; readonly onDone: () => void }): JSX.Element {
  const person = useStore(session);
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const places = useMemo(() => placesOf(api, person), [api, person]);
  const records = useRecords(api, person, text.trim());
  const words = text.toLowerCase().split(/\s+/);
  const entries = [
    ...places.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word))),
    ...records,
  ];
  const go = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onDone();
    navigate(entry.href);
  };
  const follow = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (step === undefined) go(entries[active]);
    else setActive((active + step + entries.length) % Math.max(entries.length, 1));
  };
  useEffect(() => document.querySelector(`#palette-${active}`)?.scrollIntoView({ block: 'nearest' }), [active]);
  return (
    <>
      <input
        role="combobox"
        aria-label={texts.goTo}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries.length === 0 ? undefined : `palette-${active}`}
        autocomplete="off"
        placeholder={texts.goToHint}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setActive(0);
        }}
        onKeyDown={follow}
      />
      <ul id="palette-list" role="listbox" aria-label={texts.goTo}>
        {entries.map(({ label, kind, href }, index) => (
          <li
            key={href}
            id={`palette-${index}`}
            role="option"
            aria-selected={index === active}
            onClick={() => go(entries[index])}
          >
            <bdi>{shortened(label, 80)}</bdi> <span class="hint">{kind}</span>
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p class="hint">{texts.nothingFound}</p>}
    </>
  );
}

/** The lists and single records, what can be created and run without a record, and the pages of one's own account. */
function placesOf(api: Api, person: Session): readonly Entry[] {
  const topLevel = api.resources.filter(({ path }) => !path.includes('{'));
  const hrefOf = ({ list, path }: Resource, { path: at }: Operation): string =>
    list === undefined ? (api.roots.find((root) => at.startsWith(`${root}/`)) ?? path) : path;
  const mayRun = (operation: Operation | undefined): operation is Operation =>
    isOffered(operation, person) && operation !== api.login;
  const account = person.token === undefined ? [] : accountPages(api.account);
  return [
    ...topLevel.filter(hasPage).map(({ name, path, isSingleton }) => ({
      label: name,
      kind: isSingleton ? texts.singleton : texts.list,
      href: path,
    })),
    ...topLevel
      .filter(({ list, create }) => list !== undefined && mayRun(create))
      .map(({ singular, path }) => ({ label: texts.create(singular), kind: texts.action, href: `${path}#new=` })),
    ...topLevel.flatMap((resource) =>
      resource.collectionActions.filter(mayRun).map((action) => ({
        label: action.summary,
        kind: texts.action,
        href: `${hrefOf(resource, action)}#action=${encodeURIComponent(action.id)}`,
      })),
    ),
    ...account.map((page) => ({ label: texts.accountPages[page], kind: texts.account, href: accountHref(api, page) })),
  ];
}

/** Searches the collections for records. */
function useRecords(api: Api, person: Session, text: string): readonly Entry[] {
  const [found, setFound] = useState<readonly Entry[]>([]);
  useEffect(() => {
    setFound([]);
    if (text.length < 2) return;
    const controller = new AbortController();
    const searched = api.resources
      .filter(({ list, path, retrieve }) => list && retrieve && hasParameter(list, 'search') && !path.includes('{'))
      .filter(({ list }) => isOffered(list, person))
      .slice(0, MAX_SEARCHED);
    const timer = setTimeout(() => {
      for (const resource of searched) {
        search(resource, text, controller.signal).then(
          (entries) => setFound((before) => [...before, ...entries]),
          (error: unknown) => {
            if (!(error instanceof Refusal) && !controller.signal.aborted) throw error;
          },
        );
      }
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [api, person.turn, text]);
  return found;
}

async function search(resource: Resource, text: string, signal: AbortSignal): Promise<readonly Entry[]> {
  const { list, path, key, singular } = resource;
  const { body } = await send({
    operation: list!,
    url: urlOfFirst(list!, path, RECORDS_EACH, { search: text }),
    signal,
  });
  return rowsOf(body)
    .slice(0, RECORDS_EACH)
    .flatMap((row) => {
      const href = recordPathOf(resource, path, row[key]);
      return href === undefined ? [] : [{ label: titleOf(resource, row), kind: singular, href }];
    });
}
