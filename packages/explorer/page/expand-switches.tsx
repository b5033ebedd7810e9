import type { JSX } from 'preact';
import type { Operation } from './api-model.ts';
import { changed, namesOf } from './list-query.ts';
import { here, hrefOf, navigate } from './location.ts';
import { useStore } from './store.ts';
import { texts } from '../src/texts.ts';
import { humanized } from './words.ts';

/** Adds relations to the records that are shown: a switch for each that `expand` names. The URL keeps them. */
export function ExpandSwitches({ operation }: { readonly operation: Operation }): JSX.Element | null {
  const { pathname, query, fragment } = useStore(here);
  const names = [...namesOf(operation, 'expand')];
  if (names.length === 0) return null;
  const on = new Set((query.get('expand') ?? '').split(','));
  const toggle = (name: string): void => {
    const next = names.filter((each) => on.has(each) !== (each === name));
    navigate(hrefOf(pathname, changed(operation, query, { expand: next.join(',') }), fragment), { replace: true });
  };
  return (
    <fieldset class="expand">
      <legend>{texts.expand}</legend>
      {names.map((name) => (
        <label key={name}>
          <input type="checkbox" checked={on.has(name)} onChange={() => toggle(name)} />
          <bdi>{humanized(name)}</bdi>
        </label>
      ))}
    </fieldset>
  );
}
