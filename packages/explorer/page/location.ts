import { createStore } from './store.ts';

/** A place in the browser's history. */
export interface Here {
  readonly pathname: string;
  readonly query: URLSearchParams;
  /** The part after `#`, which is the page's own: the API does not see it. */
  readonly fragment: URLSearchParams;
}

function read(): Here {
  return {
    pathname: location.pathname,
    query: new URLSearchParams(location.search),
    fragment: new URLSearchParams(location.hash.slice(1)),
  };
}

export const here = createStore<Here>(read());

addEventListener('popstate', () => here.set(read()));
addEventListener('hashchange', () => here.set(read()));

/** Goes to another place of the API without loading the page anew. */
export function navigate(href: string, { replace = false } = {}): void {
  const isElsewhere = new URL(href, location.href).pathname !== location.pathname;
  history[replace ? 'replaceState' : 'pushState'](null, '', href);
  here.set(read());
  if (isElsewhere) scrollTo(0, 0);
  // Whoever listens to the page hears where they are, and goes on from there by keyboard; so does whoever was on
  // something that is gone now.
  requestAnimationFrame(() => {
    const isLost = document.activeElement === document.body;
    if (isElsewhere || isLost) document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
  });
}

/**
 * Writes an address of a path, a query and a fragment; empty values are left out. Commas are not encoded, because they
 * separate the values of a list.
 */
export function hrefOf(pathname: string, query: URLSearchParams, fragment: URLSearchParams): string {
  const [search, hash] = [query.toString().replaceAll('%2C', ','), fragment.toString()];
  return `${pathname}${search === '' ? '' : `?${search}`}${hash === '' ? '' : `#${hash}`}`;
}
