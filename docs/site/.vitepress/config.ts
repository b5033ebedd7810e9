import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DefaultTheme, defineConfig } from 'vitepress';
import { accessibleTheme } from '../accessible-theme.ts';
import { followSources, serveMarkdown, writeMarkdown } from '../markdown-files.ts';
import { REPOSITORY } from '../../../scripts/repository.ts';
import core from '../../../packages/core/package.json' with { type: 'json' };
import { MINI_SEARCH, renderForSearch } from '../search.ts';
import { sidebarOf } from '../sidebar.ts';
import { stageSite } from '../stage.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const stage = join(root, 'docs/site/.stage');
const site = await stageSite(root, stage);
const sources = new Map(site.pages.map(({ address, source }) => [address, source]));

/** Returns the logo in a colour, as an address. */
function logo(colour: string): string {
  return `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 3h4l3 7 3-7h4L9.500 14h-3z" fill="%23${colour}"/></svg>`;
}

/** A picture of the explorer on a wide screen, in light. Beside it are pictures for phones and for the dark theme. */
const PICTURE = /^(.*)-1440-light\.webp$/;

/** A comment at the start of a block of code that is the name of its file alone. */
const FILE_NAME = /^\/\/ ([\w./-]+\.\w+)\n/;

/** Returns the name that a heading has in links on GitHub, where the same pages are read, and in TypeDoc's. */
function githubSlug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

/** Returns the picture of a theme, with the version for the width of the screen. Browsers load only those that are shown. */
function picture(name: string, theme: string, alt: string): string {
  return `<picture class="only-${theme}">
<source media="(max-width: 640px)" srcset="${name}-390-${theme}.webp" width="390" height="844">
<img src="${name}-1440-${theme}.webp" width="1440" height="900" alt="${alt}" loading="lazy"></picture>`;
}

// oxlint-disable-next-line import/no-default-export -- VitePress asks for it
export default defineConfig({
  title: 'Viewset',
  description: 'Resources declared once, for Fastify and MikroORM',
  lang: 'en',
  head: [['link', { rel: 'icon', href: logo('3451b2') }]],
  srcDir: '.stage',
  cleanUrls: true,
  // The default; said because it is a promise: a dead link fails the build.
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify: githubSlug },
    config: (md) => {
      // A block of code that is indented gets the frame of one that is fenced: it scrolls, and the page does not.
      md.renderer.rules.code_block = (tokens, index, options, env, self) => {
        const token = tokens[index];
        if (token !== undefined) token.info = 'text';
        return md.renderer.rules.fence?.(tokens, index, options, env, self) ?? '';
      };
      const { image } = md.renderer.rules;
      md.renderer.rules.image = (tokens, index, options, env, self) => {
        const { attrs, content } = tokens[index]!;
        const [, name] = PICTURE.exec(new Map(attrs).get('src') ?? '') ?? [];
        if (name === undefined) return image?.(tokens, index, options, env, self) ?? '';
        return ['light', 'dark'].map((theme) => picture(`./${name}`, theme, md.utils.escapeHtml(content))).join('');
      };
      const { fence } = md.renderer.rules;
      // A first line that names the file is the title of the block.
      md.renderer.rules.fence = (tokens, index, options, env, self) => {
        const token = tokens[index]!;
        const [line, file] = FILE_NAME.exec(token.content) ?? ['', undefined];
        token.content = token.content.slice(line.length);
        const code = fence?.(tokens, index, options, env, self) ?? '';
        return file === undefined ? code : `<div class="code-file">${file}</div>${code}`;
      };
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  transformPageData: ({ relativePath, frontmatter }) => {
    const source = sources.get(relativePath.replace(/\.md$/, ''));
    return {
      frontmatter: { ...frontmatter, edit: `${REPOSITORY}/edit/main/${source ?? ''}`, editLink: source !== undefined },
    };
  },
  themeConfig: {
    logo: { light: logo('3451b2'), dark: logo('a8b1ff'), alt: '' },
    search: { provider: 'local', options: { miniSearch: MINI_SEARCH, _render: renderForSearch } },
    editLink: { pattern: ({ frontmatter }) => String(frontmatter.edit), text: 'Edit this page' },
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Guide', link: '/guide' },
      { text: 'Reference', link: '/reference/' },
      { text: `Version ${core.version}`, link: '/changes' },
      // The theme's own icon comes from another host.
      { text: 'Repository', link: REPOSITORY },
    ],
    sidebar: sidebarOf(site),
    outline: [2, 3],
  } satisfies DefaultTheme.Config,
  vite: {
    plugins: [accessibleTheme(), serveMarkdown(site, stage), followSources(site, root, stage)],
    // The index of the search is one file, which a browser asks for at the first search.
    build: { chunkSizeWarningLimit: 2000 },
  },
  buildEnd: ({ outDir }) => writeMarkdown(site, stage, outDir),
});
