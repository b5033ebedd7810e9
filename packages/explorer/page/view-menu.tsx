import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { copyText } from './copy-text.ts';
import { here, hrefOf, navigate } from './location.ts';
import { closeMenu, Menu } from './menu.tsx';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';

/** Gives the search, the filters, the order and the columns of a list a name. The address holds all of it: it is kept as a bookmark, and sent as a link. */
export function ViewMenu(): JSX.Element {
  const { pathname, query, fragment } = useStore(here);
  const current = fragment.get('view') ?? '';
  const [name, setName] = useState(current);
  const save = (given: string): void => {
    const next = new URLSearchParams(fragment);
    next.delete('view');
    if (given !== '') next.set('view', given);
    navigate(hrefOf(pathname, query, next));
  };
  return (
    <Menu label={current === '' ? texts.view : texts.viewNamed(current)}>
      <form
        class="view-form"
        onSubmit={(event) => {
          event.preventDefault();
          closeMenu(event.currentTarget);
          save(name.trim());
        }}
      >
        <label for="view-name">{texts.viewName}</label>
        <input
          id="view-name"
          autocomplete="off"
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <p class="hint">{texts.viewHint}</p>
        <span class="buttons">
          <button class="primary">{texts.saveView}</button>
          {current !== '' && (
            <button type="button" onClick={() => void copyText(location.href)}>
              {texts.copyLink}
            </button>
          )}
        </span>
      </form>
    </Menu>
  );
}
