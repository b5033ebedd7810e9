import type { DefaultTheme } from 'vitepress';
import type { PublicSymbol } from './reference.ts';
import type { Site } from './stage.ts';

const KINDS = { classes: 'Classes', interfaces: 'Interfaces', functions: 'Functions', 'type-aliases': 'Types' };

/** The pages by their headings; within the reference, its names by package and kind. */
export function sidebarOf({ pages, symbols }: Site): DefaultTheme.SidebarMulti {
  const groups = Map.groupBy(pages, ({ group }) => group);
  const reference = Map.groupBy(symbols, ({ address }) => address.split('/')[1]?.split('#')[0] ?? '');
  return {
    '/reference/': [...reference].map(([name, members]) => ({
      text: `@viewset/${name}`,
      link: `/reference/${name}/`,
      collapsed: true,
      items: kindsOf(members).map(([folder, text]) => ({
        text,
        link: `/reference/${name}/#${folder}`,
        collapsed: true,
        items: members
          .filter(({ address }) => address.includes(`/${folder}/`))
          .map((symbol) => ({ text: symbol.name, link: `/${symbol.address}` })),
      })),
    })),
    '/': [
      ...[...groups].map(([text, members]) => ({
        text,
        // VitePress opens the group of the page that is shown.
        collapsed: text !== 'Start',
        // The name of the site leads to its home page.
        items: members
          .filter(({ address }) => address !== 'index')
          .map(({ title, address }) => ({ text: title, link: `/${address}` })),
      })),
      {
        text: 'API reference',
        collapsed: true,
        items: [...reference.keys()].map((name) => ({ text: `@viewset/${name}`, link: `/reference/${name}/` })),
      },
    ],
  };
}

/** The kinds that a package has any names of. */
function kindsOf(members: readonly PublicSymbol[]): [folder: string, text: string][] {
  return Object.entries(KINDS).filter(([folder]) => members.some(({ address }) => address.includes(`/${folder}/`)));
}
