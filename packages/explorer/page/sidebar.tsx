import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Api, hasPage, type Place } from './api-model.ts';
import { texts } from '../src/texts.ts';

/** The lists and single records of the API; on a narrow screen behind a button. */
export function Sidebar({ api, place }: { readonly api: Api; readonly place: Place }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const linked = api.resources.filter((each) => hasPage(each) && !each.path.includes('{'));
  const current = linked.find(({ path }) => place.path === path || place.path.startsWith(`${path}/`));
  return (
    <nav class={`side${isOpen ? ' open' : ''}`} aria-label={texts.navigation}>
      <button type="button" class="plain menu-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {current?.name ?? texts.menu}
      </button>
      <ul onClick={() => setOpen(false)}>
        {api.roots.map((root) => (
          <li key={root}>
            <a href={root} aria-current={place.kind === 'root' && place.path === root ? 'page' : undefined}>
              {api.roots.length > 1 ? root : texts.rootTitle}
            </a>
          </li>
        ))}
        {linked.map((resource) => (
          <li key={resource.path}>
            <a
              href={resource.path}
              aria-current={resource !== current ? undefined : place.path === resource.path ? 'page' : 'true'}
            >
              {resource.name}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
