import type { Plugin } from 'vitepress';

/** What axe finds in the components of VitePress' theme, and what is right instead. */
const REPAIRS: Readonly<Record<string, readonly (readonly [found: string, right: string])[]>> = {
  'VPHome.vue': [['class="VPHome"', 'class="VPHome" role="main"']],
  // The style sheet writes the key, since its letter is no part of the button's name.
  'VPNavBarSearchButton.vue': [
    ['<kbd class="DocSearch-Button-Key">K</kbd>', '<kbd class="DocSearch-Button-Key"></kbd>'],
  ],
  // A heading that folds its group is one button, with no second one in it.
  'VPSidebarItem.vue': [
    ['role="button"', `:role="item.link ? 'button' : undefined"`],
    ['aria-label="toggle section"', `:aria-label="item.link ? 'toggle section' : undefined"`],
    ['tabindex="0"', ':tabindex="item.link ? 0 : undefined"'],
  ],
  'VPLocalSearchBox.vue': [
    // The box is a dialog, and each result one option. Neither is a button or an option around links.
    ['role="button"', 'role="dialog" aria-modal="true"'],
    [`:aria-owns="results?.length ? 'localsearch-list' : undefined"`, ''],
    ['aria-expanded="true"', ''],
    ['aria-haspopup="listbox"', ''],
    [`:id="'localsearch-item-' + index"`, ''],
    [`:aria-selected="selectedIndex === index ? 'true' : 'false'"`, ''],
    ['role="option"', 'role="none"'],
    [
      `:aria-label="[...p.titles, p.title].join(' > ')"`,
      `:id="'localsearch-item-' + index" :aria-selected="selectedIndex === index ? 'true' : 'false'" role="option"`,
    ],
    ['class="title-icon"', 'class="title-icon" aria-hidden="true"'],
    ['<kbd :aria-label', '<kbd role="img" :aria-label'],
  ],
};

/** Repairs the components of the theme when they are compiled. Throws if VitePress has changed one, so that its repair is read again. */
export function accessibleTheme(): Plugin {
  return {
    name: 'viewset-accessible-theme',
    enforce: 'pre',
    transform(code, id) {
      const repairs = REPAIRS[/\/theme-default\/components\/(\w+\.vue)$/.exec(id)?.[1] ?? ''];
      return repairs?.reduce((text, [found, right]) => {
        if (!text.includes(found)) throw new Error(`${id} has no ${found} any more`);
        return text.replaceAll(found, () => right);
      }, code);
    },
  };
}
