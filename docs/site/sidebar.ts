import type { DefaultTheme } from 'vitepress';
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
      items: Object.entries(KINDS).map(([folder, text]) => ({
        text,
        collapsed: true,
        items: members
          .filter(({ address }) => address.includes(`/${folder}/`))
          .map((symbol) => ({ text: symbol.name, link: `/${symbol.address}` })),
      })),
    })),
    '/': [
      ...[...groups].map(([text, members]) => ({
        text,
        items: members.map(({ title, address }) => ({ text: title, link: address === 'index' ? '/' : `/${address}` })),
      })),
      {
        text: 'API reference',
        items: [...reference.keys()].map((name) => ({ text: `@viewset/${name}`, link: `/reference/${name}/` })),
      },
    ],
  };
}
