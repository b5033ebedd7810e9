// .vitepress/config.ts
import { join as join6 } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'file:///work/wt/docs/node_modules/.pnpm/vitepress@1.6.4_@algolia+client-search@5.64.0_@types+node@24.19.2_postcss@8.5.33_react-_b95d8485576c18b7b091fd31d5a6d2cd/node_modules/vitepress/dist/node/index.js';

// markdown-files.ts
import { cpSync, readFileSync as readFileSync3, writeFileSync as writeFileSync2 } from 'node:fs';
import { join as join5 } from 'node:path';

// llms-text.ts
function llmsText({ pages, symbols }) {
  const lines = [
    '# Viewset',
    '',
    '> Resources declared once, as routes, validation, documents and types, for Fastify and MikroORM.',
  ];
  for (const [group, members] of Map.groupBy(pages, (page) => page.group)) {
    lines.push('', `## ${group}`, '');
    for (const { title, address, summary } of members) lines.push(`- [${title}](/${address}.md): ${summary}`);
  }
  lines.push('', '## API reference', '');
  const documents = new Set(symbols.map(({ address }) => address.replace(/#.*$/, 'index')));
  lines.push(...[...documents].map((address) => `- [${address.replace(/^reference\//, '')}](/${address}.md)`));
  return `${lines.join('\n')}
`;
}

// stage.ts
import { copyFileSync, globSync, mkdirSync, readFileSync as readFileSync2, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join as join4, normalize } from 'node:path';

// guide-links.ts
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// symbol-links.ts
var FENCE = /^\s*(`{3,})/;
var LINK_OR_CODE = /\[[^\]]*\]\([^)]*\)|`([^`]+)`/g;
function symbolIn(code, symbols) {
  const [, name = '', call] = /^(?:new )?([A-Za-z]\w*)(?:<.*>)?(\(.*\))?$/.exec(code) ?? [];
  const symbol = symbols.get(name);
  const isWord = symbol?.isFunction === true && /^[a-z]+$/.test(name);
  return isWord && call === void 0 ? void 0 : symbol;
}
function symbolsNamed(markdown, symbols) {
  const named = /* @__PURE__ */ new Set();
  eachLineOfText(markdown, (line) => {
    for (const [, code = ''] of line.matchAll(LINK_OR_CODE)) {
      const symbol = symbolIn(code, symbols);
      if (symbol !== void 0) named.add(symbol.name);
    }
    return line;
  });
  return named;
}
function linkSymbols(markdown, symbols) {
  const linked = /* @__PURE__ */ new Set();
  return eachLineOfText(markdown, (line) => {
    if (/^#+ /.test(line)) {
      linked.clear();
      return line;
    }
    return line.replaceAll(LINK_OR_CODE, (whole, code) => {
      const symbol = symbolIn(code ?? '', symbols);
      if (symbol === void 0 || linked.has(symbol.name)) return whole;
      linked.add(symbol.name);
      return `[${whole}](/${symbol.address})`;
    });
  });
}
function eachLineOfText(markdown, edit) {
  let fence;
  const lines = markdown.split('\n').map((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (fence === void 0 && mark === void 0) return edit(line);
    if (mark !== void 0) fence = fence === void 0 ? mark : fence === mark ? void 0 : fence;
    return line;
  });
  return lines.join('\n');
}

// guide-links.ts
function linkGuides(root2, folder, pages, symbols) {
  const tellers = /* @__PURE__ */ new Map();
  for (const page of pages) {
    if (!page.source.startsWith('docs/')) continue;
    for (const name of symbolsNamed(readFileSync(join(root2, page.source), 'utf8'), symbols)) {
      tellers.set(name, [...(tellers.get(name) ?? []), page]);
    }
  }
  for (const [name, told] of tellers) {
    const address = symbols.get(name)?.address ?? '';
    if (address.includes('#')) continue;
    const links = told.map((page) => `- [${page.title}](/${page.address})`);
    appendFileSync(
      join(folder, `${address}.md`),
      `
## Pages that tell of it

${links.join('\n')}
`,
    );
  }
}

// pages.ts
import { readdirSync } from 'node:fs';
import { join as join2 } from 'node:path';

// packages.ts
var PACKAGES = ['core', 'auth', 'openapi', 'client'];

// pages.ts
var DOCS = {
  Start: ['guide', 'django', 'existing-application', 'typescript', 'testing'],
  Records: [
    'views',
    'actions',
    'routers',
    'read-shapes',
    'write-shapes',
    'transactions',
    'conditional-requests',
    'query-sets',
  ],
  Lists: ['filters', 'json-logic', 'ordering', 'pagination'],
  Access: ['authentication', 'permissions', 'throttles'],
  Server: ['plugin', 'errors', 'status-codes', 'health', 'stores', 'databases', 'openapi', 'client'],
  Operation: ['deployment', 'limits', 'security', 'security-events', 'performance', 'architecture'],
};
var OTHERS = [
  { source: 'README.md', address: 'index', group: 'Project' },
  ...PACKAGES.map((name) => ({ source: `packages/${name}/README.md`, address: `packages/${name}`, group: 'Packages' })),
  { source: 'CONTRIBUTING.md', address: 'contributing', group: 'Project' },
  { source: 'SECURITY.md', address: 'reporting', group: 'Project' },
  { source: 'CHANGELOG.md', address: 'changes', group: 'Project' },
  ...PACKAGES.map((name) => ({
    source: `packages/${name}/CHANGELOG.md`,
    address: `packages/${name}-changes`,
    group: 'Changes',
  })),
];
function listPages(root2) {
  const listed = Object.entries(DOCS).flatMap(([group, names]) =>
    names.map((name) => ({ source: `docs/${name}.md`, address: name, group })),
  );
  const sources = new Set(listed.map(({ source }) => source));
  const lost = readdirSync(join2(root2, 'docs')).filter((name) => name.endsWith('.md') && !sources.has(`docs/${name}`));
  if (lost.length > 0) throw new Error(`docs/site/pages.ts names no heading for ${lost.join(', ')}`);
  return [...listed, ...OTHERS];
}

// reference.ts
import { join as join3 } from 'node:path';
import {
  Application,
  ReflectionKind,
} from 'file:///work/wt/docs/node_modules/.pnpm/typedoc@0.28.20_typescript@6.0.3/node_modules/typedoc/dist/index.js';
var OWN_PAGE = /* @__PURE__ */ new Map([
  [ReflectionKind.Class, 'classes'],
  [ReflectionKind.Interface, 'interfaces'],
  [ReflectionKind.Function, 'functions'],
  [ReflectionKind.TypeAlias, 'type-aliases'],
]);
var MARKDOWN = {
  outputFileStrategy: 'members',
  membersWithOwnFile: ['Class', 'Interface', 'Function', 'TypeAlias'],
  entryFileName: 'index',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  parametersFormat: 'table',
  indexFormat: 'table',
  pageTitleTemplates: { module: ({ name }) => `@viewset/${name}` },
};
async function readReference(root2) {
  const app = await Application.bootstrapWithPlugins({
    ...MARKDOWN,
    name: 'API reference',
    entryPoints: PACKAGES.map((name) => join3(root2, 'packages', name, 'src/index.ts')),
    tsconfig: join3(root2, 'docs/site/tsconfig.reference.json'),
    plugin: ['typedoc-plugin-markdown'],
    // TypeScript 7 has judged the types; TypeScript 6 runs out of its stack over some of them.
    skipErrorChecking: true,
    disableSources: true,
    readme: 'none',
    excludeInternal: true,
    excludePrivate: true,
    logLevel: 'Warn',
  });
  const project = await app.convert();
  if (project === void 0) throw new Error('TypeDoc could not read the packages');
  const modules = project.children ?? [];
  for (const module of modules) module.name = module.name.replace(/\/src$/, '');
  const sorted = PACKAGES.flatMap((name) => modules.filter((module) => module.name === name));
  return {
    options: sorted.flatMap((module) => (module.children ?? []).flatMap(optionsOf)),
    symbols: sorted.flatMap((module) => (module.children ?? []).map((child) => symbolOf(module.name, child))),
    write: (folder) => app.outputs.writeOutput({ name: 'markdown', path: folder }, project),
  };
}
function symbolOf(module, { name, kind }) {
  const folder = OWN_PAGE.get(kind);
  const place = folder === void 0 ? `/#${name.toLowerCase()}` : `/${folder}/${name}`;
  return { name, isFunction: kind === ReflectionKind.Function, address: `reference/${module}${place}` };
}
function optionsOf({ name: owner, children = [] }) {
  return /Options$|^ViewDocumentation$/.test(owner) ? children.map(({ name }) => ({ owner, name })) : [];
}

// stage.ts
async function stageSite(root2, folder) {
  rmSync(folder, { recursive: true, force: true });
  const { symbols, write } = await readReference(root2);
  await write(join4(folder, 'reference'));
  const byName = new Map(symbols.toReversed().map((symbol) => [symbol.name, symbol]));
  const pages = listPages(root2).map((page) => stagePage(root2, folder, page, byName));
  linkGuides(root2, folder, pages, byName);
  for (const image of globSync('docs/*.svg', { cwd: root2 })) {
    copyFileSync(join4(root2, image), join4(folder, basename(image)));
  }
  return { pages, symbols, byName };
}
function stagePage(root2, folder, page, symbols) {
  const source = readFileSync2(join4(root2, page.source), 'utf8');
  const addresses = new Map(listPages(root2).map((other) => [other.source, other.address]));
  const text = relink(withoutMarks(source), (target) => {
    const [path2 = '', fragment] = target.split('#', 2);
    const address = addresses.get(normalize(join4(dirname(page.source), path2)));
    if (address === void 0) return path2.endsWith('.svg') ? target : void 0;
    return `/${address}${fragment === void 0 ? '' : `#${fragment}`}`;
  });
  const path = join4(folder, `${page.address}.md`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, linkSymbols(text, symbols));
  return { ...page, ...wordsOf(source) };
}
function withoutMarks(markdown) {
  return markdown.replaceAll(/^<!-- ts\b[^]*?^-->\n/gm, '').replaceAll(/^(`{3,}\w+) .*$/gm, '$1');
}
function relink(markdown, addressOf) {
  return eachLineOfText(markdown, (line) =>
    line.replaceAll(/\[((?:`[^`]*`|[^\]])*)\]\(([^)\s]+)\)/g, (whole, text, target) => {
      if (/^(https?:|mailto:|#)/.test(target)) return whole;
      const address = addressOf(target);
      return address === void 0 ? text : `[${text}](${address})`;
    }),
  );
}
function wordsOf(markdown) {
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? '';
  const paragraphs = markdown.split(/\n{2,}/).map((paragraph) => paragraph.replaceAll('\n', ' ').trim());
  const first = paragraphs.find((paragraph) => /^[^#<`|]/.test(paragraph) && paragraph.length > 20) ?? '';
  const plain = first.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return { title: title.replaceAll('`', ''), summary: /^.*?[.:](?=\s|$)/.exec(plain)?.[0] ?? plain };
}

// markdown-files.ts
function writeMarkdown(site2, stage2, out) {
  cpSync(stage2, out, {
    recursive: true,
    filter: (path) => !/\.[^/.]+$/.test(path.slice(stage2.length)) || path.endsWith('.md'),
  });
  writeFileSync2(join5(out, 'llms.txt'), llmsText(site2));
}
function serveMarkdown(site2, stage2) {
  return {
    name: 'viewset-markdown',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const path = request.url ?? '';
        const isScript = request.headers['sec-fetch-dest'] === 'script' || path.includes('?');
        if (isScript || !/\.(md|txt)$/.test(path)) return next();
        response.setHeader('content-type', 'text/plain; charset=utf-8');
        if (path === '/llms.txt') return void response.end(llmsText(site2));
        try {
          response.end(readFileSync3(join5(stage2, path)));
        } catch {
          next();
        }
      });
    },
  };
}
function followSources(site2, root2, stage2) {
  return {
    name: 'viewset-sources',
    configureServer({ watcher }) {
      const pages = new Map(site2.pages.map((page) => [join5(root2, page.source), page]));
      watcher.add([...pages.keys()]);
      watcher.on('change', (path) => {
        const page = pages.get(path);
        if (page !== void 0) stagePage(root2, stage2, page, site2.byName);
      });
    },
  };
}

// search.ts
function processTerm(term) {
  const common =
    'a an and are as at be by can do does for from how i if in into is it its me my of on or our own should so that the their them then there these this to we what when where which who why will with you your'.split(
      ' ',
    );
  const lower = term.toLowerCase();
  if (common.includes(lower)) return null;
  const parts = term.split(/(?<=[a-z\d])(?=[A-Z])/).map((part) => part.toLowerCase());
  const singular = lower.length > 4 ? lower.replace(/s$/, '') : lower;
  return [.../* @__PURE__ */ new Set([lower, singular, ...(parts.length > 1 ? parts : [])])];
}
var MINI_SEARCH = {
  options: { processTerm },
  searchOptions: {
    fuzzy: (term) => (term.length > 5 ? 0.15 : false),
    prefix: (term) => term.length > 2,
    boost: { title: 4, titles: 2, text: 1 },
    /** A page that explains comes before the reference that lists. */
    boostDocument: (id) => (/^\/(?:reference|[^#]*-changes|changes|performance)/.test(id) ? 0.2 : 1),
  },
};

// sidebar.ts
var KINDS = { classes: 'Classes', interfaces: 'Interfaces', functions: 'Functions', 'type-aliases': 'Types' };
function sidebarOf({ pages, symbols }) {
  const groups = Map.groupBy(pages, ({ group }) => group);
  const reference = Map.groupBy(symbols, ({ address }) => address.split('/')[1]?.split('#')[0] ?? '');
  return {
    '/reference/': [...reference].map(([name, members]) => ({
      text: `@viewset/${name}`,
      link: `/reference/${name}/`,
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
        items: members.map(({ title, address }) => ({ text: title, link: address === 'index' ? '/' : `/${address}` })),
      })),
      {
        text: 'API reference',
        items: [...reference.keys()].map((name) => ({ text: `@viewset/${name}`, link: `/reference/${name}/` })),
      },
    ],
  };
}
function kindsOf(members) {
  return Object.entries(KINDS).filter(([folder]) => members.some(({ address }) => address.includes(`/${folder}/`)));
}

// .vitepress/config.ts
var __vite_injected_original_import_meta_url = 'file:///work/wt/docs/docs/site/.vitepress/config.ts';
var root = fileURLToPath(new URL('../../..', __vite_injected_original_import_meta_url));
var stage = join6(root, 'docs/site/.stage');
var site = await stageSite(root, stage);
var ICON =
  'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M1 3h4l3 7 3-7h4L9.500 14h-3z" fill="%233451b2"/></svg>';
function githubSlug(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}
var config_default = defineConfig({
  title: 'Viewset',
  description: 'Resources declared once, for Fastify and MikroORM',
  lang: 'en',
  head: [['link', { rel: 'icon', href: ICON }]],
  srcDir: '.stage',
  cleanUrls: true,
  // The default; said because it is a promise: a dead link fails the build.
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify: githubSlug },
    config: (md) => {
      md.renderer.rules.code_block = (tokens, index, options, env, self) => {
        const token = tokens[index];
        if (token !== void 0) token.info = 'text';
        return md.renderer.rules.fence?.(tokens, index, options, env, self) ?? '';
      };
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  themeConfig: {
    search: { provider: 'local', options: { miniSearch: MINI_SEARCH } },
    nav: [
      { text: 'Guide', link: '/guide' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Changes', link: '/changes' },
    ],
    sidebar: sidebarOf(site),
    outline: [2, 3],
  },
  vite: {
    plugins: [serveMarkdown(site, stage), followSources(site, root, stage)],
    // The index of the search is one file, which a browser asks for at the first search.
    build: { chunkSizeWarningLimit: 2e3 },
  },
  buildEnd: ({ outDir }) => writeMarkdown(site, stage, outDir),
});
export { config_default as default };
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsiLnZpdGVwcmVzcy9jb25maWcudHMiLCAibWFya2Rvd24tZmlsZXMudHMiLCAibGxtcy10ZXh0LnRzIiwgInN0YWdlLnRzIiwgImd1aWRlLWxpbmtzLnRzIiwgInN5bWJvbC1saW5rcy50cyIsICJwYWdlcy50cyIsICJwYWNrYWdlcy50cyIsICJyZWZlcmVuY2UudHMiLCAic2VhcmNoLnRzIiwgInNpZGViYXIudHMiXSwKICAic291cmNlc0NvbnRlbnQiOiBbImNvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9kaXJuYW1lID0gXCIvd29yay93dC9kb2NzL2RvY3Mvc2l0ZS8udml0ZXByZXNzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9kb2NzL2RvY3Mvc2l0ZS8udml0ZXByZXNzL2NvbmZpZy50c1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vd29yay93dC9kb2NzL2RvY3Mvc2l0ZS8udml0ZXByZXNzL2NvbmZpZy50c1wiO2ltcG9ydCB7IGpvaW4gfSBmcm9tICdub2RlOnBhdGgnO1xuaW1wb3J0IHsgZmlsZVVSTFRvUGF0aCB9IGZyb20gJ25vZGU6dXJsJztcbmltcG9ydCB7IHR5cGUgRGVmYXVsdFRoZW1lLCBkZWZpbmVDb25maWcgfSBmcm9tICd2aXRlcHJlc3MnO1xuaW1wb3J0IHsgZm9sbG93U291cmNlcywgc2VydmVNYXJrZG93biwgd3JpdGVNYXJrZG93biB9IGZyb20gJy4uL21hcmtkb3duLWZpbGVzLnRzJztcbmltcG9ydCB7IE1JTklfU0VBUkNIIH0gZnJvbSAnLi4vc2VhcmNoLnRzJztcbmltcG9ydCB7IHNpZGViYXJPZiB9IGZyb20gJy4uL3NpZGViYXIudHMnO1xuaW1wb3J0IHsgc3RhZ2VTaXRlIH0gZnJvbSAnLi4vc3RhZ2UudHMnO1xuXG5jb25zdCByb290ID0gZmlsZVVSTFRvUGF0aChuZXcgVVJMKCcuLi8uLi8uLicsIGltcG9ydC5tZXRhLnVybCkpO1xuY29uc3Qgc3RhZ2UgPSBqb2luKHJvb3QsICdkb2NzL3NpdGUvLnN0YWdlJyk7XG5jb25zdCBzaXRlID0gYXdhaXQgc3RhZ2VTaXRlKHJvb3QsIHN0YWdlKTtcblxuY29uc3QgSUNPTiA9XG4gICdkYXRhOmltYWdlL3N2Zyt4bWwsPHN2ZyB4bWxucz1cImh0dHA6Ly93d3cudzMub3JnLzIwMDAvc3ZnXCIgdmlld0JveD1cIjAgMCAxNiAxNlwiPjxwYXRoIGQ9XCJNMSAzaDRsMyA3IDMtN2g0TDkuNTAwIDE0aC0zelwiIGZpbGw9XCIlMjMzNDUxYjJcIi8+PC9zdmc+JztcblxuLyoqIFJldHVybnMgdGhlIG5hbWUgdGhhdCBhIGhlYWRpbmcgaGFzIGluIGxpbmtzIG9uIEdpdEh1Yiwgd2hlcmUgdGhlIHNhbWUgcGFnZXMgYXJlIHJlYWQsIGFuZCBpbiBUeXBlRG9jJ3MuICovXG5mdW5jdGlvbiBnaXRodWJTbHVnKGhlYWRpbmc6IHN0cmluZyk6IHN0cmluZyB7XG4gIHJldHVybiBoZWFkaW5nXG4gICAgLnRvTG93ZXJDYXNlKClcbiAgICAucmVwbGFjZUFsbCgvW15cXHB7TH1cXHB7Tn1cXHNfLV0vZ3UsICcnKVxuICAgIC50cmltKClcbiAgICAucmVwbGFjZUFsbCgvXFxzL2csICctJyk7XG59XG5cbi8vIG94bGludC1kaXNhYmxlLW5leHQtbGluZSBpbXBvcnQvbm8tZGVmYXVsdC1leHBvcnQgLS0gVml0ZVByZXNzIGFza3MgZm9yIGl0XG5leHBvcnQgZGVmYXVsdCBkZWZpbmVDb25maWcoe1xuICB0aXRsZTogJ1ZpZXdzZXQnLFxuICBkZXNjcmlwdGlvbjogJ1Jlc291cmNlcyBkZWNsYXJlZCBvbmNlLCBmb3IgRmFzdGlmeSBhbmQgTWlrcm9PUk0nLFxuICBsYW5nOiAnZW4nLFxuICBoZWFkOiBbWydsaW5rJywgeyByZWw6ICdpY29uJywgaHJlZjogSUNPTiB9XV0sXG4gIHNyY0RpcjogJy5zdGFnZScsXG4gIGNsZWFuVXJsczogdHJ1ZSxcbiAgLy8gVGhlIGRlZmF1bHQ7IHNhaWQgYmVjYXVzZSBpdCBpcyBhIHByb21pc2U6IGEgZGVhZCBsaW5rIGZhaWxzIHRoZSBidWlsZC5cbiAgaWdub3JlRGVhZExpbmtzOiBmYWxzZSxcbiAgbWFya2Rvd246IHtcbiAgICBhbmNob3I6IHsgc2x1Z2lmeTogZ2l0aHViU2x1ZyB9LFxuICAgIGNvbmZpZzogKG1kKSA9PiB7XG4gICAgICAvLyBBIGJsb2NrIG9mIGNvZGUgdGhhdCBpcyBpbmRlbnRlZCBnZXRzIHRoZSBmcmFtZSBvZiBvbmUgdGhhdCBpcyBmZW5jZWQ6IGl0IHNjcm9sbHMsIGFuZCB0aGUgcGFnZSBkb2VzIG5vdC5cbiAgICAgIG1kLnJlbmRlcmVyLnJ1bGVzLmNvZGVfYmxvY2sgPSAodG9rZW5zLCBpbmRleCwgb3B0aW9ucywgZW52LCBzZWxmKSA9PiB7XG4gICAgICAgIGNvbnN0IHRva2VuID0gdG9rZW5zW2luZGV4XTtcbiAgICAgICAgaWYgKHRva2VuICE9PSB1bmRlZmluZWQpIHRva2VuLmluZm8gPSAndGV4dCc7XG4gICAgICAgIHJldHVybiBtZC5yZW5kZXJlci5ydWxlcy5mZW5jZT8uKHRva2VucywgaW5kZXgsIG9wdGlvbnMsIGVudiwgc2VsZikgPz8gJyc7XG4gICAgICB9O1xuICAgIH0sXG4gICAgdGhlbWU6IHsgbGlnaHQ6ICdnaXRodWItbGlnaHQtaGlnaC1jb250cmFzdCcsIGRhcms6ICdnaXRodWItZGFyay1oaWdoLWNvbnRyYXN0JyB9LFxuICB9LFxuICB0aGVtZUNvbmZpZzoge1xuICAgIHNlYXJjaDogeyBwcm92aWRlcjogJ2xvY2FsJywgb3B0aW9uczogeyBtaW5pU2VhcmNoOiBNSU5JX1NFQVJDSCB9IH0sXG4gICAgbmF2OiBbXG4gICAgICB7IHRleHQ6ICdHdWlkZScsIGxpbms6ICcvZ3VpZGUnIH0sXG4gICAgICB7IHRleHQ6ICdSZWZlcmVuY2UnLCBsaW5rOiAnL3JlZmVyZW5jZS8nIH0sXG4gICAgICB7IHRleHQ6ICdDaGFuZ2VzJywgbGluazogJy9jaGFuZ2VzJyB9LFxuICAgIF0sXG4gICAgc2lkZWJhcjogc2lkZWJhck9mKHNpdGUpLFxuICAgIG91dGxpbmU6IFsyLCAzXSxcbiAgfSBzYXRpc2ZpZXMgRGVmYXVsdFRoZW1lLkNvbmZpZyxcbiAgdml0ZToge1xuICAgIHBsdWdpbnM6IFtzZXJ2ZU1hcmtkb3duKHNpdGUsIHN0YWdlKSwgZm9sbG93U291cmNlcyhzaXRlLCByb290LCBzdGFnZSldLFxuICAgIC8vIFRoZSBpbmRleCBvZiB0aGUgc2VhcmNoIGlzIG9uZSBmaWxlLCB3aGljaCBhIGJyb3dzZXIgYXNrcyBmb3IgYXQgdGhlIGZpcnN0IHNlYXJjaC5cbiAgICBidWlsZDogeyBjaHVua1NpemVXYXJuaW5nTGltaXQ6IDIwMDAgfSxcbiAgfSxcbiAgYnVpbGRFbmQ6ICh7IG91dERpciB9KSA9PiB3cml0ZU1hcmtkb3duKHNpdGUsIHN0YWdlLCBvdXREaXIpLFxufSk7XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L2RvY3MvZG9jcy9zaXRlXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9kb2NzL2RvY3Mvc2l0ZS9tYXJrZG93bi1maWxlcy50c1wiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9pbXBvcnRfbWV0YV91cmwgPSBcImZpbGU6Ly8vd29yay93dC9kb2NzL2RvY3Mvc2l0ZS9tYXJrZG93bi1maWxlcy50c1wiO2ltcG9ydCB7IGNwU3luYywgcmVhZEZpbGVTeW5jLCB3cml0ZUZpbGVTeW5jIH0gZnJvbSAnbm9kZTpmcyc7XG5pbXBvcnQgeyBqb2luIH0gZnJvbSAnbm9kZTpwYXRoJztcbmltcG9ydCB0eXBlIHsgUGx1Z2luIH0gZnJvbSAndml0ZXByZXNzJztcbmltcG9ydCB7IGxsbXNUZXh0IH0gZnJvbSAnLi9sbG1zLXRleHQudHMnO1xuaW1wb3J0IHsgdHlwZSBTaXRlLCBzdGFnZVBhZ2UgfSBmcm9tICcuL3N0YWdlLnRzJztcblxuLyoqIFdyaXRlcyBlYWNoIHBhZ2UncyBNYXJrZG93biBhbmQgYGxsbXMudHh0YCBiZXNpZGUgdGhlIHBhZ2VzLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHdyaXRlTWFya2Rvd24oc2l0ZTogU2l0ZSwgc3RhZ2U6IHN0cmluZywgb3V0OiBzdHJpbmcpOiB2b2lkIHtcbiAgY3BTeW5jKHN0YWdlLCBvdXQsIHtcbiAgICByZWN1cnNpdmU6IHRydWUsXG4gICAgZmlsdGVyOiAocGF0aCkgPT4gIS9cXC5bXi8uXSskLy50ZXN0KHBhdGguc2xpY2Uoc3RhZ2UubGVuZ3RoKSkgfHwgcGF0aC5lbmRzV2l0aCgnLm1kJyksXG4gIH0pO1xuICB3cml0ZUZpbGVTeW5jKGpvaW4ob3V0LCAnbGxtcy50eHQnKSwgbGxtc1RleHQoc2l0ZSkpO1xufVxuXG4vKiogQW5zd2VycyByZXF1ZXN0cyBmb3IgdGhlbSB3aGlsZSB0aGUgc2l0ZSBpcyBzZXJ2ZWQgZm9yIHdyaXRpbmcuIEEgcGFnZSdzIHNjcmlwdCBhc2tzIGZvciB0aGUgc2FtZSBhZGRyZXNzOiBmb3IgdGhhdCwgVml0ZSBhbnN3ZXJzLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHNlcnZlTWFya2Rvd24oc2l0ZTogU2l0ZSwgc3RhZ2U6IHN0cmluZyk6IFBsdWdpbiB7XG4gIHJldHVybiB7XG4gICAgbmFtZTogJ3ZpZXdzZXQtbWFya2Rvd24nLFxuICAgIGNvbmZpZ3VyZVNlcnZlcihzZXJ2ZXIpIHtcbiAgICAgIHNlcnZlci5taWRkbGV3YXJlcy51c2UoKHJlcXVlc3QsIHJlc3BvbnNlLCBuZXh0KSA9PiB7XG4gICAgICAgIGNvbnN0IHBhdGggPSByZXF1ZXN0LnVybCA/PyAnJztcbiAgICAgICAgY29uc3QgaXNTY3JpcHQgPSByZXF1ZXN0LmhlYWRlcnNbJ3NlYy1mZXRjaC1kZXN0J10gPT09ICdzY3JpcHQnIHx8IHBhdGguaW5jbHVkZXMoJz8nKTtcbiAgICAgICAgaWYgKGlzU2NyaXB0IHx8ICEvXFwuKG1kfHR4dCkkLy50ZXN0KHBhdGgpKSByZXR1cm4gbmV4dCgpO1xuICAgICAgICByZXNwb25zZS5zZXRIZWFkZXIoJ2NvbnRlbnQtdHlwZScsICd0ZXh0L3BsYWluOyBjaGFyc2V0PXV0Zi04Jyk7XG4gICAgICAgIGlmIChwYXRoID09PSAnL2xsbXMudHh0JykgcmV0dXJuIHZvaWQgcmVzcG9uc2UuZW5kKGxsbXNUZXh0KHNpdGUpKTtcbiAgICAgICAgdHJ5IHtcbiAgICAgICAgICByZXNwb25zZS5lbmQocmVhZEZpbGVTeW5jKGpvaW4oc3RhZ2UsIHBhdGgpKSk7XG4gICAgICAgIH0gY2F0Y2gge1xuICAgICAgICAgIG5leHQoKTtcbiAgICAgICAgfVxuICAgICAgfSk7XG4gICAgfSxcbiAgfTtcbn1cblxuLyoqIFdyaXRlcyBhIHBhZ2Ugb2YgdGhlIHNpdGUgYW5ldyB3aGVuIGl0cyBzb3VyY2UgY2hhbmdlcy4gVGhlIGRvY3N0cmluZ3MgYXJlIHJlYWQgYXQgc3RhcnQgYWxvbmUuICovXG5leHBvcnQgZnVuY3Rpb24gZm9sbG93U291cmNlcyhzaXRlOiBTaXRlLCByb290OiBzdHJpbmcsIHN0YWdlOiBzdHJpbmcpOiBQbHVnaW4ge1xuICByZXR1cm4ge1xuICAgIG5hbWU6ICd2aWV3c2V0LXNvdXJjZXMnLFxuICAgIGNvbmZpZ3VyZVNlcnZlcih7IHdhdGNoZXIgfSkge1xuICAgICAgY29uc3QgcGFnZXMgPSBuZXcgTWFwKHNpdGUucGFnZXMubWFwKChwYWdlKSA9PiBbam9pbihyb290LCBwYWdlLnNvdXJjZSksIHBhZ2VdKSk7XG4gICAgICB3YXRjaGVyLmFkZChbLi4ucGFnZXMua2V5cygpXSk7XG4gICAgICB3YXRjaGVyLm9uKCdjaGFuZ2UnLCAocGF0aCkgPT4ge1xuICAgICAgICBjb25zdCBwYWdlID0gcGFnZXMuZ2V0KHBhdGgpO1xuICAgICAgICBpZiAocGFnZSAhPT0gdW5kZWZpbmVkKSBzdGFnZVBhZ2Uocm9vdCwgc3RhZ2UsIHBhZ2UsIHNpdGUuYnlOYW1lKTtcbiAgICAgIH0pO1xuICAgIH0sXG4gIH07XG59XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L2RvY3MvZG9jcy9zaXRlXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9kb2NzL2RvY3Mvc2l0ZS9sbG1zLXRleHQudHNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGUvbGxtcy10ZXh0LnRzXCI7aW1wb3J0IHR5cGUgeyBTaXRlIH0gZnJvbSAnLi9zdGFnZS50cyc7XG5cbi8qKiBSZXR1cm5zIHRoZSB0ZXh0IG9mIGBsbG1zLnR4dGA6IGV2ZXJ5IHBhZ2Ugd2l0aCBpdHMgZmlyc3Qgc2VudGVuY2UsIGZvciBwcm9ncmFtcyB0aGF0IHJlYWQgdGhlIE1hcmtkb3duLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGxsbXNUZXh0KHsgcGFnZXMsIHN5bWJvbHMgfTogU2l0ZSk6IHN0cmluZyB7XG4gIGNvbnN0IGxpbmVzID0gW1xuICAgICcjIFZpZXdzZXQnLFxuICAgICcnLFxuICAgICc+IFJlc291cmNlcyBkZWNsYXJlZCBvbmNlLCBhcyByb3V0ZXMsIHZhbGlkYXRpb24sIGRvY3VtZW50cyBhbmQgdHlwZXMsIGZvciBGYXN0aWZ5IGFuZCBNaWtyb09STS4nLFxuICBdO1xuICBmb3IgKGNvbnN0IFtncm91cCwgbWVtYmVyc10gb2YgTWFwLmdyb3VwQnkocGFnZXMsIChwYWdlKSA9PiBwYWdlLmdyb3VwKSkge1xuICAgIGxpbmVzLnB1c2goJycsIGAjIyAke2dyb3VwfWAsICcnKTtcbiAgICBmb3IgKGNvbnN0IHsgdGl0bGUsIGFkZHJlc3MsIHN1bW1hcnkgfSBvZiBtZW1iZXJzKSBsaW5lcy5wdXNoKGAtIFske3RpdGxlfV0oLyR7YWRkcmVzc30ubWQpOiAke3N1bW1hcnl9YCk7XG4gIH1cbiAgbGluZXMucHVzaCgnJywgJyMjIEFQSSByZWZlcmVuY2UnLCAnJyk7XG4gIGNvbnN0IGRvY3VtZW50cyA9IG5ldyBTZXQoc3ltYm9scy5tYXAoKHsgYWRkcmVzcyB9KSA9PiBhZGRyZXNzLnJlcGxhY2UoLyMuKiQvLCAnaW5kZXgnKSkpO1xuICBsaW5lcy5wdXNoKC4uLlsuLi5kb2N1bWVudHNdLm1hcCgoYWRkcmVzcykgPT4gYC0gWyR7YWRkcmVzcy5yZXBsYWNlKC9ecmVmZXJlbmNlXFwvLywgJycpfV0oLyR7YWRkcmVzc30ubWQpYCkpO1xuICByZXR1cm4gYCR7bGluZXMuam9pbignXFxuJyl9XFxuYDtcbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGVcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZmlsZW5hbWUgPSBcIi93b3JrL3d0L2RvY3MvZG9jcy9zaXRlL3N0YWdlLnRzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy93b3JrL3d0L2RvY3MvZG9jcy9zaXRlL3N0YWdlLnRzXCI7LyoqIFdyaXRlcyB0aGUgc2l0ZSdzIE1hcmtkb3duOiBldmVyeSBwYWdlIG9mIHRoZSByZXBvc2l0b3J5IHVuZGVyIGl0cyBhZGRyZXNzLCBhbmQgdGhlIHJlZmVyZW5jZS4gKi9cbmltcG9ydCB7IGNvcHlGaWxlU3luYywgZ2xvYlN5bmMsIG1rZGlyU3luYywgcmVhZEZpbGVTeW5jLCBybVN5bmMsIHdyaXRlRmlsZVN5bmMgfSBmcm9tICdub2RlOmZzJztcbmltcG9ydCB7IGJhc2VuYW1lLCBkaXJuYW1lLCBqb2luLCBub3JtYWxpemUgfSBmcm9tICdub2RlOnBhdGgnO1xuaW1wb3J0IHsgbGlua0d1aWRlcyB9IGZyb20gJy4vZ3VpZGUtbGlua3MudHMnO1xuaW1wb3J0IHsgbGlzdFBhZ2VzLCB0eXBlIFBhZ2UgfSBmcm9tICcuL3BhZ2VzLnRzJztcbmltcG9ydCB7IHR5cGUgUHVibGljU3ltYm9sLCByZWFkUmVmZXJlbmNlIH0gZnJvbSAnLi9yZWZlcmVuY2UudHMnO1xuaW1wb3J0IHsgZWFjaExpbmVPZlRleHQsIGxpbmtTeW1ib2xzIH0gZnJvbSAnLi9zeW1ib2wtbGlua3MudHMnO1xuXG4vKiogQSBwYWdlIHdpdGggaXRzIHdvcmRzLCBmb3IgbGlzdHMgb2YgcGFnZXMuICovXG5leHBvcnQgaW50ZXJmYWNlIFN0YWdlZFBhZ2UgZXh0ZW5kcyBQYWdlIHtcbiAgcmVhZG9ubHkgdGl0bGU6IHN0cmluZztcbiAgLyoqIFRoZSBmaXJzdCBzZW50ZW5jZS4gKi9cbiAgcmVhZG9ubHkgc3VtbWFyeTogc3RyaW5nO1xufVxuXG5leHBvcnQgaW50ZXJmYWNlIFNpdGUge1xuICByZWFkb25seSBwYWdlczogcmVhZG9ubHkgU3RhZ2VkUGFnZVtdO1xuICByZWFkb25seSBzeW1ib2xzOiByZWFkb25seSBQdWJsaWNTeW1ib2xbXTtcbiAgLyoqIFRoZSBzeW1ib2wgdGhhdCBhIG5hbWUgc3RhbmRzIGZvciwgaWYgdHdvIHBhY2thZ2VzIGhhdmUgaXQuICovXG4gIHJlYWRvbmx5IGJ5TmFtZTogUmVhZG9ubHlNYXA8c3RyaW5nLCBQdWJsaWNTeW1ib2w+O1xufVxuXG4vKiogV3JpdGVzIGV2ZXJ5dGhpbmcgaW50byBhIGZvbGRlciwgd2hpY2ggaXMgZW1wdGllZCBmaXJzdC4gKi9cbmV4cG9ydCBhc3luYyBmdW5jdGlvbiBzdGFnZVNpdGUocm9vdDogc3RyaW5nLCBmb2xkZXI6IHN0cmluZyk6IFByb21pc2U8U2l0ZT4ge1xuICBybVN5bmMoZm9sZGVyLCB7IHJlY3Vyc2l2ZTogdHJ1ZSwgZm9yY2U6IHRydWUgfSk7XG4gIGNvbnN0IHsgc3ltYm9scywgd3JpdGUgfSA9IGF3YWl0IHJlYWRSZWZlcmVuY2Uocm9vdCk7XG4gIGF3YWl0IHdyaXRlKGpvaW4oZm9sZGVyLCAncmVmZXJlbmNlJykpO1xuICBjb25zdCBieU5hbWUgPSBuZXcgTWFwKHN5bWJvbHMudG9SZXZlcnNlZCgpLm1hcCgoc3ltYm9sKSA9PiBbc3ltYm9sLm5hbWUsIHN5bWJvbF0pKTtcbiAgY29uc3QgcGFnZXMgPSBsaXN0UGFnZXMocm9vdCkubWFwKChwYWdlKSA9PiBzdGFnZVBhZ2Uocm9vdCwgZm9sZGVyLCBwYWdlLCBieU5hbWUpKTtcbiAgbGlua0d1aWRlcyhyb290LCBmb2xkZXIsIHBhZ2VzLCBieU5hbWUpO1xuICBmb3IgKGNvbnN0IGltYWdlIG9mIGdsb2JTeW5jKCdkb2NzLyouc3ZnJywgeyBjd2Q6IHJvb3QgfSkpIHtcbiAgICBjb3B5RmlsZVN5bmMoam9pbihyb290LCBpbWFnZSksIGpvaW4oZm9sZGVyLCBiYXNlbmFtZShpbWFnZSkpKTtcbiAgfVxuICByZXR1cm4geyBwYWdlcywgc3ltYm9scywgYnlOYW1lIH07XG59XG5cbi8qKiBXcml0ZXMgb25lIHBhZ2UgaW50byB0aGUgZm9sZGVyIG9mIHRoZSBzaXRlLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHN0YWdlUGFnZShcbiAgcm9vdDogc3RyaW5nLFxuICBmb2xkZXI6IHN0cmluZyxcbiAgcGFnZTogUGFnZSxcbiAgc3ltYm9sczogUmVhZG9ubHlNYXA8c3RyaW5nLCBQdWJsaWNTeW1ib2w+LFxuKTogU3RhZ2VkUGFnZSB7XG4gIGNvbnN0IHNvdXJjZSA9IHJlYWRGaWxlU3luYyhqb2luKHJvb3QsIHBhZ2Uuc291cmNlKSwgJ3V0ZjgnKTtcbiAgY29uc3QgYWRkcmVzc2VzID0gbmV3IE1hcChsaXN0UGFnZXMocm9vdCkubWFwKChvdGhlcikgPT4gW290aGVyLnNvdXJjZSwgb3RoZXIuYWRkcmVzc10pKTtcbiAgY29uc3QgdGV4dCA9IHJlbGluayh3aXRob3V0TWFya3Moc291cmNlKSwgKHRhcmdldCkgPT4ge1xuICAgIGNvbnN0IFtwYXRoID0gJycsIGZyYWdtZW50XSA9IHRhcmdldC5zcGxpdCgnIycsIDIpO1xuICAgIGNvbnN0IGFkZHJlc3MgPSBhZGRyZXNzZXMuZ2V0KG5vcm1hbGl6ZShqb2luKGRpcm5hbWUocGFnZS5zb3VyY2UpLCBwYXRoKSkpO1xuICAgIGlmIChhZGRyZXNzID09PSB1bmRlZmluZWQpIHJldHVybiBwYXRoLmVuZHNXaXRoKCcuc3ZnJykgPyB0YXJnZXQgOiB1bmRlZmluZWQ7XG4gICAgcmV0dXJuIGAvJHthZGRyZXNzfSR7ZnJhZ21lbnQgPT09IHVuZGVmaW5lZCA/ICcnIDogYCMke2ZyYWdtZW50fWB9YDtcbiAgfSk7XG4gIGNvbnN0IHBhdGggPSBqb2luKGZvbGRlciwgYCR7cGFnZS5hZGRyZXNzfS5tZGApO1xuICBta2RpclN5bmMoZGlybmFtZShwYXRoKSwgeyByZWN1cnNpdmU6IHRydWUgfSk7XG4gIHdyaXRlRmlsZVN5bmMocGF0aCwgbGlua1N5bWJvbHModGV4dCwgc3ltYm9scykpO1xuICByZXR1cm4geyAuLi5wYWdlLCAuLi53b3Jkc09mKHNvdXJjZSkgfTtcbn1cblxuLyoqIERyb3BzIHdoYXQgaXMgc2FpZCB0byB0aGUgdGVzdHMgYWxvbmU6IGhpZGRlbiBibG9ja3MsIGFuZCB0aGUgd29yZHMgYWZ0ZXIgdGhlIGxhbmd1YWdlIG9mIGEgZmVuY2UuICovXG5mdW5jdGlvbiB3aXRob3V0TWFya3MobWFya2Rvd246IHN0cmluZyk6IHN0cmluZyB7XG4gIHJldHVybiBtYXJrZG93bi5yZXBsYWNlQWxsKC9ePCEtLSB0c1xcYlteXSo/Xi0tPlxcbi9nbSwgJycpLnJlcGxhY2VBbGwoL14oYHszLH1cXHcrKSAuKiQvZ20sICckMScpO1xufVxuXG4vKiogUmV3cml0ZXMgdGhlIHJlbGF0aXZlIGxpbmtzIG9mIGEgcGFnZS4gQSBsaW5rIHRvIHdoYXQgaXMgbm8gcGFnZSBvZiB0aGUgc2l0ZSBsZWF2ZXMgaXRzIHRleHQuICovXG5mdW5jdGlvbiByZWxpbmsobWFya2Rvd246IHN0cmluZywgYWRkcmVzc09mOiAodGFyZ2V0OiBzdHJpbmcpID0+IHN0cmluZyB8IHVuZGVmaW5lZCk6IHN0cmluZyB7XG4gIHJldHVybiBlYWNoTGluZU9mVGV4dChtYXJrZG93biwgKGxpbmUpID0+XG4gICAgbGluZS5yZXBsYWNlQWxsKC9cXFsoKD86YFteYF0qYHxbXlxcXV0pKilcXF1cXCgoW14pXFxzXSspXFwpL2csICh3aG9sZSwgdGV4dDogc3RyaW5nLCB0YXJnZXQ6IHN0cmluZykgPT4ge1xuICAgICAgaWYgKC9eKGh0dHBzPzp8bWFpbHRvOnwjKS8udGVzdCh0YXJnZXQpKSByZXR1cm4gd2hvbGU7XG4gICAgICBjb25zdCBhZGRyZXNzID0gYWRkcmVzc09mKHRhcmdldCk7XG4gICAgICByZXR1cm4gYWRkcmVzcyA9PT0gdW5kZWZpbmVkID8gdGV4dCA6IGBbJHt0ZXh0fV0oJHthZGRyZXNzfSlgO1xuICAgIH0pLFxuICApO1xufVxuXG5mdW5jdGlvbiB3b3Jkc09mKG1hcmtkb3duOiBzdHJpbmcpOiB7IHRpdGxlOiBzdHJpbmc7IHN1bW1hcnk6IHN0cmluZyB9IHtcbiAgY29uc3QgdGl0bGUgPSAvXiMgKC4qKSQvbS5leGVjKG1hcmtkb3duKT8uWzFdID8/ICcnO1xuICBjb25zdCBwYXJhZ3JhcGhzID0gbWFya2Rvd24uc3BsaXQoL1xcbnsyLH0vKS5tYXAoKHBhcmFncmFwaCkgPT4gcGFyYWdyYXBoLnJlcGxhY2VBbGwoJ1xcbicsICcgJykudHJpbSgpKTtcbiAgY29uc3QgZmlyc3QgPSBwYXJhZ3JhcGhzLmZpbmQoKHBhcmFncmFwaCkgPT4gL15bXiM8YHxdLy50ZXN0KHBhcmFncmFwaCkgJiYgcGFyYWdyYXBoLmxlbmd0aCA+IDIwKSA/PyAnJztcbiAgY29uc3QgcGxhaW4gPSBmaXJzdC5yZXBsYWNlQWxsKC9cXFsoW15cXF1dKilcXF1cXChbXildKlxcKS9nLCAnJDEnKTtcbiAgcmV0dXJuIHsgdGl0bGU6IHRpdGxlLnJlcGxhY2VBbGwoJ2AnLCAnJyksIHN1bW1hcnk6IC9eLio/Wy46XSg/PVxcc3wkKS8uZXhlYyhwbGFpbik/LlswXSA/PyBwbGFpbiB9O1xufVxuIiwgImNvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9kaXJuYW1lID0gXCIvd29yay93dC9kb2NzL2RvY3Mvc2l0ZVwiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGUvZ3VpZGUtbGlua3MudHNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGUvZ3VpZGUtbGlua3MudHNcIjtpbXBvcnQgeyBhcHBlbmRGaWxlU3luYywgcmVhZEZpbGVTeW5jIH0gZnJvbSAnbm9kZTpmcyc7XG5pbXBvcnQgeyBqb2luIH0gZnJvbSAnbm9kZTpwYXRoJztcbmltcG9ydCB0eXBlIHsgUHVibGljU3ltYm9sIH0gZnJvbSAnLi9yZWZlcmVuY2UudHMnO1xuaW1wb3J0IHR5cGUgeyBTdGFnZWRQYWdlIH0gZnJvbSAnLi9zdGFnZS50cyc7XG5pbXBvcnQgeyBzeW1ib2xzTmFtZWQgfSBmcm9tICcuL3N5bWJvbC1saW5rcy50cyc7XG5cbi8qKiBBZGRzIHRvIGVhY2ggbmFtZSdzIHBhZ2UgaW4gdGhlIHJlZmVyZW5jZSB0aGUgcGFnZXMgb2YgdGhlIGRvY3VtZW50YXRpb24gdGhhdCB0ZWxsIG9mIGl0LiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGxpbmtHdWlkZXMoXG4gIHJvb3Q6IHN0cmluZyxcbiAgZm9sZGVyOiBzdHJpbmcsXG4gIHBhZ2VzOiByZWFkb25seSBTdGFnZWRQYWdlW10sXG4gIHN5bWJvbHM6IFJlYWRvbmx5TWFwPHN0cmluZywgUHVibGljU3ltYm9sPixcbik6IHZvaWQge1xuICBjb25zdCB0ZWxsZXJzID0gbmV3IE1hcDxzdHJpbmcsIFN0YWdlZFBhZ2VbXT4oKTtcbiAgZm9yIChjb25zdCBwYWdlIG9mIHBhZ2VzKSB7XG4gICAgaWYgKCFwYWdlLnNvdXJjZS5zdGFydHNXaXRoKCdkb2NzLycpKSBjb250aW51ZTtcbiAgICBmb3IgKGNvbnN0IG5hbWUgb2Ygc3ltYm9sc05hbWVkKHJlYWRGaWxlU3luYyhqb2luKHJvb3QsIHBhZ2Uuc291cmNlKSwgJ3V0ZjgnKSwgc3ltYm9scykpIHtcbiAgICAgIHRlbGxlcnMuc2V0KG5hbWUsIFsuLi4odGVsbGVycy5nZXQobmFtZSkgPz8gW10pLCBwYWdlXSk7XG4gICAgfVxuICB9XG4gIGZvciAoY29uc3QgW25hbWUsIHRvbGRdIG9mIHRlbGxlcnMpIHtcbiAgICBjb25zdCBhZGRyZXNzID0gc3ltYm9scy5nZXQobmFtZSk/LmFkZHJlc3MgPz8gJyc7XG4gICAgaWYgKGFkZHJlc3MuaW5jbHVkZXMoJyMnKSkgY29udGludWU7XG4gICAgY29uc3QgbGlua3MgPSB0b2xkLm1hcCgocGFnZSkgPT4gYC0gWyR7cGFnZS50aXRsZX1dKC8ke3BhZ2UuYWRkcmVzc30pYCk7XG4gICAgYXBwZW5kRmlsZVN5bmMoam9pbihmb2xkZXIsIGAke2FkZHJlc3N9Lm1kYCksIGBcXG4jIyBQYWdlcyB0aGF0IHRlbGwgb2YgaXRcXG5cXG4ke2xpbmtzLmpvaW4oJ1xcbicpfVxcbmApO1xuICB9XG59XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L2RvY3MvZG9jcy9zaXRlXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9kb2NzL2RvY3Mvc2l0ZS9zeW1ib2wtbGlua3MudHNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGUvc3ltYm9sLWxpbmtzLnRzXCI7aW1wb3J0IHR5cGUgeyBQdWJsaWNTeW1ib2wgfSBmcm9tICcuL3JlZmVyZW5jZS50cyc7XG5cbmNvbnN0IEZFTkNFID0gL15cXHMqKGB7Myx9KS87XG4vKiogQSBsaW5rLCB3aGljaCBzdGF5cyBhcyBpdCBpcywgb3IgYSBzcGFuIG9mIGNvZGUuICovXG5jb25zdCBMSU5LX09SX0NPREUgPSAvXFxbW15cXF1dKlxcXVxcKFteKV0qXFwpfGAoW15gXSspYC9nO1xuXG4vKipcbiAqIFJldHVybnMgdGhlIHB1YmxpYyBzeW1ib2wgdGhhdCBhIHNwYW4gb2YgY29kZSBuYW1lczogYnkgaXRzIG5hbWUsIGFsb25lLCB3aXRoIHR5cGUgYXJndW1lbnRzIG9yIGluIGEgY2FsbCAoYHJlYWRTaGFwZShcdTIwMjYpYCkuIEEgZnVuY3Rpb24gd2hvc2UgbmFtZSBpc1xuICogYW4gb3JkaW5hcnkgd29yZCBoYXMgdG8gYmUgY2FsbGVkLCBzaW5jZSBgYW5kYCBtYXkgYXMgd2VsbCBiZSBKU09OIExvZ2ljJ3MuXG4gKi9cbmV4cG9ydCBmdW5jdGlvbiBzeW1ib2xJbihjb2RlOiBzdHJpbmcsIHN5bWJvbHM6IFJlYWRvbmx5TWFwPHN0cmluZywgUHVibGljU3ltYm9sPik6IFB1YmxpY1N5bWJvbCB8IHVuZGVmaW5lZCB7XG4gIGNvbnN0IFssIG5hbWUgPSAnJywgY2FsbF0gPSAvXig/Om5ldyApPyhbQS1aYS16XVxcdyopKD86PC4qPik/KFxcKC4qXFwpKT8kLy5leGVjKGNvZGUpID8/IFtdO1xuICBjb25zdCBzeW1ib2wgPSBzeW1ib2xzLmdldChuYW1lKTtcbiAgY29uc3QgaXNXb3JkID0gc3ltYm9sPy5pc0Z1bmN0aW9uID09PSB0cnVlICYmIC9eW2Etel0rJC8udGVzdChuYW1lKTtcbiAgcmV0dXJuIGlzV29yZCAmJiBjYWxsID09PSB1bmRlZmluZWQgPyB1bmRlZmluZWQgOiBzeW1ib2w7XG59XG5cbi8qKiBSZXR1cm5zIHRoZSBzeW1ib2xzIHRoYXQgYSBwYWdlIG5hbWVzIGluIGl0cyB0ZXh0LCBvdXRzaWRlIG9mIGJsb2NrcyBvZiBjb2RlLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHN5bWJvbHNOYW1lZChtYXJrZG93bjogc3RyaW5nLCBzeW1ib2xzOiBSZWFkb25seU1hcDxzdHJpbmcsIFB1YmxpY1N5bWJvbD4pOiBTZXQ8c3RyaW5nPiB7XG4gIGNvbnN0IG5hbWVkID0gbmV3IFNldDxzdHJpbmc+KCk7XG4gIGVhY2hMaW5lT2ZUZXh0KG1hcmtkb3duLCAobGluZSkgPT4ge1xuICAgIGZvciAoY29uc3QgWywgY29kZSA9ICcnXSBvZiBsaW5lLm1hdGNoQWxsKExJTktfT1JfQ09ERSkpIHtcbiAgICAgIGNvbnN0IHN5bWJvbCA9IHN5bWJvbEluKGNvZGUsIHN5bWJvbHMpO1xuICAgICAgaWYgKHN5bWJvbCAhPT0gdW5kZWZpbmVkKSBuYW1lZC5hZGQoc3ltYm9sLm5hbWUpO1xuICAgIH1cbiAgICByZXR1cm4gbGluZTtcbiAgfSk7XG4gIHJldHVybiBuYW1lZDtcbn1cblxuLyoqIExpbmtzIGVhY2ggc3BhbiBvZiBjb2RlIHRoYXQgbmFtZXMgYSBwdWJsaWMgc3ltYm9sIHRvIGl0cyBwYWdlIGluIHRoZSByZWZlcmVuY2UsIG9uY2UgYSBzZWN0aW9uLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGxpbmtTeW1ib2xzKG1hcmtkb3duOiBzdHJpbmcsIHN5bWJvbHM6IFJlYWRvbmx5TWFwPHN0cmluZywgUHVibGljU3ltYm9sPik6IHN0cmluZyB7XG4gIGNvbnN0IGxpbmtlZCA9IG5ldyBTZXQ8c3RyaW5nPigpO1xuICByZXR1cm4gZWFjaExpbmVPZlRleHQobWFya2Rvd24sIChsaW5lKSA9PiB7XG4gICAgaWYgKC9eIysgLy50ZXN0KGxpbmUpKSB7XG4gICAgICBsaW5rZWQuY2xlYXIoKTtcbiAgICAgIHJldHVybiBsaW5lO1xuICAgIH1cbiAgICByZXR1cm4gbGluZS5yZXBsYWNlQWxsKExJTktfT1JfQ09ERSwgKHdob2xlLCBjb2RlOiBzdHJpbmcgfCB1bmRlZmluZWQpID0+IHtcbiAgICAgIGNvbnN0IHN5bWJvbCA9IHN5bWJvbEluKGNvZGUgPz8gJycsIHN5bWJvbHMpO1xuICAgICAgaWYgKHN5bWJvbCA9PT0gdW5kZWZpbmVkIHx8IGxpbmtlZC5oYXMoc3ltYm9sLm5hbWUpKSByZXR1cm4gd2hvbGU7XG4gICAgICBsaW5rZWQuYWRkKHN5bWJvbC5uYW1lKTtcbiAgICAgIHJldHVybiBgWyR7d2hvbGV9XSgvJHtzeW1ib2wuYWRkcmVzc30pYDtcbiAgICB9KTtcbiAgfSk7XG59XG5cbi8qKiBQdXRzIGVhY2ggbGluZSBvdXRzaWRlIG9mIGEgYmxvY2sgb2YgY29kZSB0aHJvdWdoIGEgZnVuY3Rpb24uICovXG5leHBvcnQgZnVuY3Rpb24gZWFjaExpbmVPZlRleHQobWFya2Rvd246IHN0cmluZywgZWRpdDogKGxpbmU6IHN0cmluZykgPT4gc3RyaW5nKTogc3RyaW5nIHtcbiAgbGV0IGZlbmNlOiBzdHJpbmcgfCB1bmRlZmluZWQ7XG4gIGNvbnN0IGxpbmVzID0gbWFya2Rvd24uc3BsaXQoJ1xcbicpLm1hcCgobGluZSkgPT4ge1xuICAgIGNvbnN0IG1hcmsgPSBGRU5DRS5leGVjKGxpbmUpPy5bMV07XG4gICAgaWYgKGZlbmNlID09PSB1bmRlZmluZWQgJiYgbWFyayA9PT0gdW5kZWZpbmVkKSByZXR1cm4gZWRpdChsaW5lKTtcbiAgICBpZiAobWFyayAhPT0gdW5kZWZpbmVkKSBmZW5jZSA9IGZlbmNlID09PSB1bmRlZmluZWQgPyBtYXJrIDogZmVuY2UgPT09IG1hcmsgPyB1bmRlZmluZWQgOiBmZW5jZTtcbiAgICByZXR1cm4gbGluZTtcbiAgfSk7XG4gIHJldHVybiBsaW5lcy5qb2luKCdcXG4nKTtcbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGVcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZmlsZW5hbWUgPSBcIi93b3JrL3d0L2RvY3MvZG9jcy9zaXRlL3BhZ2VzLnRzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy93b3JrL3d0L2RvY3MvZG9jcy9zaXRlL3BhZ2VzLnRzXCI7aW1wb3J0IHsgcmVhZGRpclN5bmMgfSBmcm9tICdub2RlOmZzJztcbmltcG9ydCB7IGpvaW4gfSBmcm9tICdub2RlOnBhdGgnO1xuaW1wb3J0IHsgUEFDS0FHRVMgfSBmcm9tICcuL3BhY2thZ2VzLnRzJztcblxuLyoqIEEgcGFnZSBvZiB0aGUgc2l0ZSB0aGF0IHN0YW5kcyBpbiB0aGUgcmVwb3NpdG9yeSBhcyBNYXJrZG93bi4gKi9cbmV4cG9ydCBpbnRlcmZhY2UgUGFnZSB7XG4gIC8qKiBUaGUgZmlsZSwgYXMgc2VlbiBmcm9tIHRoZSByZXBvc2l0b3J5J3Mgcm9vdC4gKi9cbiAgcmVhZG9ubHkgc291cmNlOiBzdHJpbmc7XG4gIC8qKiBUaGUgYWRkcmVzcyB3aXRob3V0IGEgc2xhc2ggaW4gZnJvbnQ6IGBndWlkZWAsIGBwYWNrYWdlcy9jb3JlYC4gKi9cbiAgcmVhZG9ubHkgYWRkcmVzczogc3RyaW5nO1xuICAvKiogVGhlIGhlYWRpbmcgdGhhdCB0aGUgcGFnZSBzdGFuZHMgdW5kZXIgaW4gdGhlIHNpZGViYXIuICovXG4gIHJlYWRvbmx5IGdyb3VwOiBzdHJpbmc7XG59XG5cbi8qKiBUaGUgcGFnZXMgb2YgYGRvY3NgLCBieSB0aGUgaGVhZGluZ3Mgb2YgdGhlIHNpZGViYXIsIGluIHRoZWlyIG9yZGVyLiAqL1xuY29uc3QgRE9DUzogUmVhZG9ubHk8UmVjb3JkPHN0cmluZywgcmVhZG9ubHkgc3RyaW5nW10+PiA9IHtcbiAgU3RhcnQ6IFsnZ3VpZGUnLCAnZGphbmdvJywgJ2V4aXN0aW5nLWFwcGxpY2F0aW9uJywgJ3R5cGVzY3JpcHQnLCAndGVzdGluZyddLFxuICBSZWNvcmRzOiBbXG4gICAgJ3ZpZXdzJyxcbiAgICAnYWN0aW9ucycsXG4gICAgJ3JvdXRlcnMnLFxuICAgICdyZWFkLXNoYXBlcycsXG4gICAgJ3dyaXRlLXNoYXBlcycsXG4gICAgJ3RyYW5zYWN0aW9ucycsXG4gICAgJ2NvbmRpdGlvbmFsLXJlcXVlc3RzJyxcbiAgICAncXVlcnktc2V0cycsXG4gIF0sXG4gIExpc3RzOiBbJ2ZpbHRlcnMnLCAnanNvbi1sb2dpYycsICdvcmRlcmluZycsICdwYWdpbmF0aW9uJ10sXG4gIEFjY2VzczogWydhdXRoZW50aWNhdGlvbicsICdwZXJtaXNzaW9ucycsICd0aHJvdHRsZXMnXSxcbiAgU2VydmVyOiBbJ3BsdWdpbicsICdlcnJvcnMnLCAnc3RhdHVzLWNvZGVzJywgJ2hlYWx0aCcsICdzdG9yZXMnLCAnZGF0YWJhc2VzJywgJ29wZW5hcGknLCAnY2xpZW50J10sXG4gIE9wZXJhdGlvbjogWydkZXBsb3ltZW50JywgJ2xpbWl0cycsICdzZWN1cml0eScsICdzZWN1cml0eS1ldmVudHMnLCAncGVyZm9ybWFuY2UnLCAnYXJjaGl0ZWN0dXJlJ10sXG59O1xuXG4vKiogUGFnZXMgdGhhdCBzdGFuZCBlbHNld2hlcmUgdGhhbiBpbiBgZG9jc2AuICovXG5jb25zdCBPVEhFUlM6IHJlYWRvbmx5IFBhZ2VbXSA9IFtcbiAgeyBzb3VyY2U6ICdSRUFETUUubWQnLCBhZGRyZXNzOiAnaW5kZXgnLCBncm91cDogJ1Byb2plY3QnIH0sXG4gIC4uLlBBQ0tBR0VTLm1hcCgobmFtZSkgPT4gKHsgc291cmNlOiBgcGFja2FnZXMvJHtuYW1lfS9SRUFETUUubWRgLCBhZGRyZXNzOiBgcGFja2FnZXMvJHtuYW1lfWAsIGdyb3VwOiAnUGFja2FnZXMnIH0pKSxcbiAgeyBzb3VyY2U6ICdDT05UUklCVVRJTkcubWQnLCBhZGRyZXNzOiAnY29udHJpYnV0aW5nJywgZ3JvdXA6ICdQcm9qZWN0JyB9LFxuICB7IHNvdXJjZTogJ1NFQ1VSSVRZLm1kJywgYWRkcmVzczogJ3JlcG9ydGluZycsIGdyb3VwOiAnUHJvamVjdCcgfSxcbiAgeyBzb3VyY2U6ICdDSEFOR0VMT0cubWQnLCBhZGRyZXNzOiAnY2hhbmdlcycsIGdyb3VwOiAnUHJvamVjdCcgfSxcbiAgLi4uUEFDS0FHRVMubWFwKChuYW1lKSA9PiAoe1xuICAgIHNvdXJjZTogYHBhY2thZ2VzLyR7bmFtZX0vQ0hBTkdFTE9HLm1kYCxcbiAgICBhZGRyZXNzOiBgcGFja2FnZXMvJHtuYW1lfS1jaGFuZ2VzYCxcbiAgICBncm91cDogJ0NoYW5nZXMnLFxuICB9KSksXG5dO1xuXG4vKipcbiAqIFJldHVybnMgZXZlcnkgcGFnZSBpbiB0aGUgb3JkZXIgb2YgdGhlIHNpZGViYXIsIHRoZSBndWlkZSBmaXJzdC4gVGhyb3dzIGlmIGEgZmlsZSBvZiBgZG9jc2Agc3RhbmRzIHVuZGVyIG5vIGhlYWRpbmc6IG5vYm9keVxuICogd291bGQgZmluZCBpdC5cbiAqL1xuZXhwb3J0IGZ1bmN0aW9uIGxpc3RQYWdlcyhyb290OiBzdHJpbmcpOiByZWFkb25seSBQYWdlW10ge1xuICBjb25zdCBsaXN0ZWQgPSBPYmplY3QuZW50cmllcyhET0NTKS5mbGF0TWFwKChbZ3JvdXAsIG5hbWVzXSkgPT5cbiAgICBuYW1lcy5tYXAoKG5hbWUpID0+ICh7IHNvdXJjZTogYGRvY3MvJHtuYW1lfS5tZGAsIGFkZHJlc3M6IG5hbWUsIGdyb3VwIH0pKSxcbiAgKTtcbiAgY29uc3Qgc291cmNlcyA9IG5ldyBTZXQobGlzdGVkLm1hcCgoeyBzb3VyY2UgfSkgPT4gc291cmNlKSk7XG4gIGNvbnN0IGxvc3QgPSByZWFkZGlyU3luYyhqb2luKHJvb3QsICdkb2NzJykpLmZpbHRlcigobmFtZSkgPT4gbmFtZS5lbmRzV2l0aCgnLm1kJykgJiYgIXNvdXJjZXMuaGFzKGBkb2NzLyR7bmFtZX1gKSk7XG4gIGlmIChsb3N0Lmxlbmd0aCA+IDApIHRocm93IG5ldyBFcnJvcihgZG9jcy9zaXRlL3BhZ2VzLnRzIG5hbWVzIG5vIGhlYWRpbmcgZm9yICR7bG9zdC5qb2luKCcsICcpfWApO1xuICByZXR1cm4gWy4uLmxpc3RlZCwgLi4uT1RIRVJTXTtcbn1cbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGVcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZmlsZW5hbWUgPSBcIi93b3JrL3d0L2RvY3MvZG9jcy9zaXRlL3BhY2thZ2VzLnRzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy93b3JrL3d0L2RvY3MvZG9jcy9zaXRlL3BhY2thZ2VzLnRzXCI7LyoqIFRoZSBwYWNrYWdlcyB0aGF0IGFyZSBkb2N1bWVudGVkLCBieSB0aGVpciBmb2xkZXJzIGluIGBwYWNrYWdlc2AuICovXG5leHBvcnQgY29uc3QgUEFDS0FHRVMgPSBbJ2NvcmUnLCAnYXV0aCcsICdvcGVuYXBpJywgJ2NsaWVudCddIGFzIGNvbnN0O1xuIiwgImNvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9kaXJuYW1lID0gXCIvd29yay93dC9kb2NzL2RvY3Mvc2l0ZVwiO2NvbnN0IF9fdml0ZV9pbmplY3RlZF9vcmlnaW5hbF9maWxlbmFtZSA9IFwiL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGUvcmVmZXJlbmNlLnRzXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ltcG9ydF9tZXRhX3VybCA9IFwiZmlsZTovLy93b3JrL3d0L2RvY3MvZG9jcy9zaXRlL3JlZmVyZW5jZS50c1wiOy8qKiBNYWtlcyB0aGUgQVBJIHJlZmVyZW5jZSBvdXQgb2YgdGhlIGRvY3N0cmluZ3MuICovXG5pbXBvcnQgeyBqb2luIH0gZnJvbSAnbm9kZTpwYXRoJztcbmltcG9ydCB7IEFwcGxpY2F0aW9uLCB0eXBlIERlY2xhcmF0aW9uUmVmbGVjdGlvbiwgUmVmbGVjdGlvbktpbmQgfSBmcm9tICd0eXBlZG9jJztcbmltcG9ydCB7IFBBQ0tBR0VTIH0gZnJvbSAnLi9wYWNrYWdlcy50cyc7XG5cbi8qKiBBIHB1YmxpYyBuYW1lIG9mIGEgcGFja2FnZS4gKi9cbmV4cG9ydCBpbnRlcmZhY2UgUHVibGljU3ltYm9sIHtcbiAgcmVhZG9ubHkgbmFtZTogc3RyaW5nO1xuICByZWFkb25seSBpc0Z1bmN0aW9uOiBib29sZWFuO1xuICAvKiogVGhlIGFkZHJlc3Mgb2YgaXRzIGRvY3VtZW50YXRpb24sIHdpdGhvdXQgYSBzbGFzaCBpbiBmcm9udDogYHJlZmVyZW5jZS9jb3JlL2NsYXNzZXMvUm91dGVyYCwgYHJlZmVyZW5jZS9jb3JlLyN2aWV3c2V0YC4gKi9cbiAgcmVhZG9ubHkgYWRkcmVzczogc3RyaW5nO1xufVxuXG5leHBvcnQgaW50ZXJmYWNlIFJlZmVyZW5jZSB7XG4gIHJlYWRvbmx5IHN5bWJvbHM6IHJlYWRvbmx5IFB1YmxpY1N5bWJvbFtdO1xuICAvKiogVGhlIGZpZWxkcyBvZiBldmVyeSBpbnRlcmZhY2Ugb2Ygb3B0aW9ucy4gKi9cbiAgcmVhZG9ubHkgb3B0aW9uczogcmVhZG9ubHkgeyByZWFkb25seSBvd25lcjogc3RyaW5nOyByZWFkb25seSBuYW1lOiBzdHJpbmcgfVtdO1xuICAvKiogV3JpdGVzIHRoZSByZWZlcmVuY2UgYXMgTWFya2Rvd24gaW50byBhIGZvbGRlci4gKi9cbiAgcmVhZG9ubHkgd3JpdGU6IChmb2xkZXI6IHN0cmluZykgPT4gUHJvbWlzZTx2b2lkPjtcbn1cblxuLyoqIFRoZSBraW5kcyB0aGF0IGhhdmUgYSBwYWdlIGVhY2gsIGFuZCB0aGVpciBmb2xkZXJzLiBUaGUgb3RoZXJzIHN0YW5kIG9uIHRoZSBwYWdlIG9mIHRoZWlyIHBhY2thZ2UuICovXG5jb25zdCBPV05fUEFHRTogUmVhZG9ubHlNYXA8UmVmbGVjdGlvbktpbmQsIHN0cmluZz4gPSBuZXcgTWFwKFtcbiAgW1JlZmxlY3Rpb25LaW5kLkNsYXNzLCAnY2xhc3NlcyddLFxuICBbUmVmbGVjdGlvbktpbmQuSW50ZXJmYWNlLCAnaW50ZXJmYWNlcyddLFxuICBbUmVmbGVjdGlvbktpbmQuRnVuY3Rpb24sICdmdW5jdGlvbnMnXSxcbiAgW1JlZmxlY3Rpb25LaW5kLlR5cGVBbGlhcywgJ3R5cGUtYWxpYXNlcyddLFxuXSk7XG5cbmNvbnN0IE1BUktET1dOID0ge1xuICBvdXRwdXRGaWxlU3RyYXRlZ3k6ICdtZW1iZXJzJyxcbiAgbWVtYmVyc1dpdGhPd25GaWxlOiBbJ0NsYXNzJywgJ0ludGVyZmFjZScsICdGdW5jdGlvbicsICdUeXBlQWxpYXMnXSxcbiAgZW50cnlGaWxlTmFtZTogJ2luZGV4JyxcbiAgaGlkZVBhZ2VIZWFkZXI6IHRydWUsXG4gIGhpZGVCcmVhZGNydW1iczogdHJ1ZSxcbiAgdXNlQ29kZUJsb2NrczogdHJ1ZSxcbiAgcGFyYW1ldGVyc0Zvcm1hdDogJ3RhYmxlJyxcbiAgaW5kZXhGb3JtYXQ6ICd0YWJsZScsXG4gIHBhZ2VUaXRsZVRlbXBsYXRlczogeyBtb2R1bGU6ICh7IG5hbWUgfTogeyBuYW1lOiBzdHJpbmcgfSkgPT4gYEB2aWV3c2V0LyR7bmFtZX1gIH0sXG59O1xuXG4vKiogUmVhZHMgdGhlIHB1YmxpYyBuYW1lcyBvZiBldmVyeSBwYWNrYWdlLiAqL1xuZXhwb3J0IGFzeW5jIGZ1bmN0aW9uIHJlYWRSZWZlcmVuY2Uocm9vdDogc3RyaW5nKTogUHJvbWlzZTxSZWZlcmVuY2U+IHtcbiAgY29uc3QgYXBwID0gYXdhaXQgQXBwbGljYXRpb24uYm9vdHN0cmFwV2l0aFBsdWdpbnMoe1xuICAgIC4uLihNQVJLRE9XTiBhcyBvYmplY3QpLFxuICAgIG5hbWU6ICdBUEkgcmVmZXJlbmNlJyxcbiAgICBlbnRyeVBvaW50czogUEFDS0FHRVMubWFwKChuYW1lKSA9PiBqb2luKHJvb3QsICdwYWNrYWdlcycsIG5hbWUsICdzcmMvaW5kZXgudHMnKSksXG4gICAgdHNjb25maWc6IGpvaW4ocm9vdCwgJ2RvY3Mvc2l0ZS90c2NvbmZpZy5yZWZlcmVuY2UuanNvbicpLFxuICAgIHBsdWdpbjogWyd0eXBlZG9jLXBsdWdpbi1tYXJrZG93biddLFxuICAgIC8vIFR5cGVTY3JpcHQgNyBoYXMganVkZ2VkIHRoZSB0eXBlczsgVHlwZVNjcmlwdCA2IHJ1bnMgb3V0IG9mIGl0cyBzdGFjayBvdmVyIHNvbWUgb2YgdGhlbS5cbiAgICBza2lwRXJyb3JDaGVja2luZzogdHJ1ZSxcbiAgICBkaXNhYmxlU291cmNlczogdHJ1ZSxcbiAgICByZWFkbWU6ICdub25lJyxcbiAgICBleGNsdWRlSW50ZXJuYWw6IHRydWUsXG4gICAgZXhjbHVkZVByaXZhdGU6IHRydWUsXG4gICAgbG9nTGV2ZWw6ICdXYXJuJyxcbiAgfSk7XG4gIGNvbnN0IHByb2plY3QgPSBhd2FpdCBhcHAuY29udmVydCgpO1xuICBpZiAocHJvamVjdCA9PT0gdW5kZWZpbmVkKSB0aHJvdyBuZXcgRXJyb3IoJ1R5cGVEb2MgY291bGQgbm90IHJlYWQgdGhlIHBhY2thZ2VzJyk7XG4gIGNvbnN0IG1vZHVsZXMgPSBwcm9qZWN0LmNoaWxkcmVuID8/IFtdO1xuICBmb3IgKGNvbnN0IG1vZHVsZSBvZiBtb2R1bGVzKSBtb2R1bGUubmFtZSA9IG1vZHVsZS5uYW1lLnJlcGxhY2UoL1xcL3NyYyQvLCAnJyk7XG4gIC8vIElmIHR3byBwYWNrYWdlcyBoYXZlIG9uZSBuYW1lLCBpdCBzdGFuZHMgZm9yIHRoYXQgb2YgdGhlIGZpcnN0LlxuICBjb25zdCBzb3J0ZWQgPSBQQUNLQUdFUy5mbGF0TWFwKChuYW1lKSA9PiBtb2R1bGVzLmZpbHRlcigobW9kdWxlKSA9PiBtb2R1bGUubmFtZSA9PT0gbmFtZSkpO1xuICByZXR1cm4ge1xuICAgIG9wdGlvbnM6IHNvcnRlZC5mbGF0TWFwKChtb2R1bGUpID0+IChtb2R1bGUuY2hpbGRyZW4gPz8gW10pLmZsYXRNYXAob3B0aW9uc09mKSksXG4gICAgc3ltYm9sczogc29ydGVkLmZsYXRNYXAoKG1vZHVsZSkgPT4gKG1vZHVsZS5jaGlsZHJlbiA/PyBbXSkubWFwKChjaGlsZCkgPT4gc3ltYm9sT2YobW9kdWxlLm5hbWUsIGNoaWxkKSkpLFxuICAgIHdyaXRlOiAoZm9sZGVyKSA9PiBhcHAub3V0cHV0cy53cml0ZU91dHB1dCh7IG5hbWU6ICdtYXJrZG93bicsIHBhdGg6IGZvbGRlciB9LCBwcm9qZWN0KSxcbiAgfTtcbn1cblxuZnVuY3Rpb24gc3ltYm9sT2YobW9kdWxlOiBzdHJpbmcsIHsgbmFtZSwga2luZCB9OiBEZWNsYXJhdGlvblJlZmxlY3Rpb24pOiBQdWJsaWNTeW1ib2wge1xuICBjb25zdCBmb2xkZXIgPSBPV05fUEFHRS5nZXQoa2luZCk7XG4gIGNvbnN0IHBsYWNlID0gZm9sZGVyID09PSB1bmRlZmluZWQgPyBgLyMke25hbWUudG9Mb3dlckNhc2UoKX1gIDogYC8ke2ZvbGRlcn0vJHtuYW1lfWA7XG4gIHJldHVybiB7IG5hbWUsIGlzRnVuY3Rpb246IGtpbmQgPT09IFJlZmxlY3Rpb25LaW5kLkZ1bmN0aW9uLCBhZGRyZXNzOiBgcmVmZXJlbmNlLyR7bW9kdWxlfSR7cGxhY2V9YCB9O1xufVxuXG5mdW5jdGlvbiBvcHRpb25zT2YoeyBuYW1lOiBvd25lciwgY2hpbGRyZW4gPSBbXSB9OiBEZWNsYXJhdGlvblJlZmxlY3Rpb24pOiB7IG93bmVyOiBzdHJpbmc7IG5hbWU6IHN0cmluZyB9W10ge1xuICByZXR1cm4gL09wdGlvbnMkfF5WaWV3RG9jdW1lbnRhdGlvbiQvLnRlc3Qob3duZXIpID8gY2hpbGRyZW4ubWFwKCh7IG5hbWUgfSkgPT4gKHsgb3duZXIsIG5hbWUgfSkpIDogW107XG59XG4iLCAiY29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2Rpcm5hbWUgPSBcIi93b3JrL3d0L2RvY3MvZG9jcy9zaXRlXCI7Y29uc3QgX192aXRlX2luamVjdGVkX29yaWdpbmFsX2ZpbGVuYW1lID0gXCIvd29yay93dC9kb2NzL2RvY3Mvc2l0ZS9zZWFyY2gudHNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGUvc2VhcmNoLnRzXCI7LyoqIFNheXMgaG93IHRoZSBzaXRlJ3Mgc2VhcmNoIHJlYWRzIHRleHRzIGFuZCByYW5rcyBwYWdlczsgdGhlIHNpdGUgYW5kIGl0cyB0ZXN0IGhhdmUgaXQgZnJvbSBoZXJlLiAqL1xuaW1wb3J0IHR5cGUgeyBEZWZhdWx0VGhlbWUgfSBmcm9tICd2aXRlcHJlc3MnO1xuXG4vKipcbiAqIFJldHVybnMgdGhlIHRlcm1zIG9mIGEgd29yZDogdGhlIHdvcmQgaXRzZWxmLCBhbmQgdGhlIHBhcnRzIG9mIGEgbmFtZSBpbiBjYW1lbCBjYXNlLCBzbyB0aGF0IFwicGFnZSBzaXplXCIgZmluZHMgYHBhZ2VTaXplYC4gV29yZHMgdGhhdFxuICogZXZlcnkgcXVlc3Rpb24gaGFzLCBcImhvdyBkbyBJXCIsIGFyZSBub25lLiBWaXRlUHJlc3Mgc2VuZHMgdGhpcyBmdW5jdGlvbiB0byB0aGUgYnJvd3NlciBhcyB0ZXh0OiBpdCBtdXN0IG5vdCB1c2UgYW55dGhpbmdcbiAqIG91dHNpZGUgaXRzZWxmLlxuICovXG5mdW5jdGlvbiBwcm9jZXNzVGVybSh0ZXJtOiBzdHJpbmcpOiBzdHJpbmcgfCBzdHJpbmdbXSB8IG51bGwge1xuICBjb25zdCBjb21tb24gPVxuICAgICdhIGFuIGFuZCBhcmUgYXMgYXQgYmUgYnkgY2FuIGRvIGRvZXMgZm9yIGZyb20gaG93IGkgaWYgaW4gaW50byBpcyBpdCBpdHMgbWUgbXkgb2Ygb24gb3Igb3VyIG93biBzaG91bGQgc28gdGhhdCB0aGUgdGhlaXIgdGhlbSB0aGVuIHRoZXJlIHRoZXNlIHRoaXMgdG8gd2Ugd2hhdCB3aGVuIHdoZXJlIHdoaWNoIHdobyB3aHkgd2lsbCB3aXRoIHlvdSB5b3VyJy5zcGxpdChcbiAgICAgICcgJyxcbiAgICApO1xuICBjb25zdCBsb3dlciA9IHRlcm0udG9Mb3dlckNhc2UoKTtcbiAgaWYgKGNvbW1vbi5pbmNsdWRlcyhsb3dlcikpIHJldHVybiBudWxsO1xuICBjb25zdCBwYXJ0cyA9IHRlcm0uc3BsaXQoLyg/PD1bYS16XFxkXSkoPz1bQS1aXSkvKS5tYXAoKHBhcnQpID0+IHBhcnQudG9Mb3dlckNhc2UoKSk7XG4gIGNvbnN0IHNpbmd1bGFyID0gbG93ZXIubGVuZ3RoID4gNCA/IGxvd2VyLnJlcGxhY2UoL3MkLywgJycpIDogbG93ZXI7XG4gIHJldHVybiBbLi4ubmV3IFNldChbbG93ZXIsIHNpbmd1bGFyLCAuLi4ocGFydHMubGVuZ3RoID4gMSA/IHBhcnRzIDogW10pXSldO1xufVxuXG5leHBvcnQgY29uc3QgTUlOSV9TRUFSQ0ggPSB7XG4gIG9wdGlvbnM6IHsgcHJvY2Vzc1Rlcm0gfSxcbiAgc2VhcmNoT3B0aW9uczoge1xuICAgIGZ1enp5OiAodGVybTogc3RyaW5nKSA9PiAodGVybS5sZW5ndGggPiA1ID8gMC4xNSA6IGZhbHNlKSxcbiAgICBwcmVmaXg6ICh0ZXJtOiBzdHJpbmcpID0+IHRlcm0ubGVuZ3RoID4gMixcbiAgICBib29zdDogeyB0aXRsZTogNCwgdGl0bGVzOiAyLCB0ZXh0OiAxIH0sXG4gICAgLyoqIEEgcGFnZSB0aGF0IGV4cGxhaW5zIGNvbWVzIGJlZm9yZSB0aGUgcmVmZXJlbmNlIHRoYXQgbGlzdHMuICovXG4gICAgYm9vc3REb2N1bWVudDogKGlkOiBzdHJpbmcpID0+ICgvXlxcLyg/OnJlZmVyZW5jZXxbXiNdKi1jaGFuZ2VzfGNoYW5nZXN8cGVyZm9ybWFuY2UpLy50ZXN0KGlkKSA/IDAuMiA6IDEpLFxuICB9LFxufSBzYXRpc2ZpZXMgTm9uTnVsbGFibGU8RGVmYXVsdFRoZW1lLkxvY2FsU2VhcmNoT3B0aW9uc1snbWluaVNlYXJjaCddPjtcbiIsICJjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZGlybmFtZSA9IFwiL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGVcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfZmlsZW5hbWUgPSBcIi93b3JrL3d0L2RvY3MvZG9jcy9zaXRlL3NpZGViYXIudHNcIjtjb25zdCBfX3ZpdGVfaW5qZWN0ZWRfb3JpZ2luYWxfaW1wb3J0X21ldGFfdXJsID0gXCJmaWxlOi8vL3dvcmsvd3QvZG9jcy9kb2NzL3NpdGUvc2lkZWJhci50c1wiO2ltcG9ydCB0eXBlIHsgRGVmYXVsdFRoZW1lIH0gZnJvbSAndml0ZXByZXNzJztcbmltcG9ydCB0eXBlIHsgUHVibGljU3ltYm9sIH0gZnJvbSAnLi9yZWZlcmVuY2UudHMnO1xuaW1wb3J0IHR5cGUgeyBTaXRlIH0gZnJvbSAnLi9zdGFnZS50cyc7XG5cbmNvbnN0IEtJTkRTID0geyBjbGFzc2VzOiAnQ2xhc3NlcycsIGludGVyZmFjZXM6ICdJbnRlcmZhY2VzJywgZnVuY3Rpb25zOiAnRnVuY3Rpb25zJywgJ3R5cGUtYWxpYXNlcyc6ICdUeXBlcycgfTtcblxuLyoqIFRoZSBwYWdlcyBieSB0aGVpciBoZWFkaW5nczsgd2l0aGluIHRoZSByZWZlcmVuY2UsIGl0cyBuYW1lcyBieSBwYWNrYWdlIGFuZCBraW5kLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHNpZGViYXJPZih7IHBhZ2VzLCBzeW1ib2xzIH06IFNpdGUpOiBEZWZhdWx0VGhlbWUuU2lkZWJhck11bHRpIHtcbiAgY29uc3QgZ3JvdXBzID0gTWFwLmdyb3VwQnkocGFnZXMsICh7IGdyb3VwIH0pID0+IGdyb3VwKTtcbiAgY29uc3QgcmVmZXJlbmNlID0gTWFwLmdyb3VwQnkoc3ltYm9scywgKHsgYWRkcmVzcyB9KSA9PiBhZGRyZXNzLnNwbGl0KCcvJylbMV0/LnNwbGl0KCcjJylbMF0gPz8gJycpO1xuICByZXR1cm4ge1xuICAgICcvcmVmZXJlbmNlLyc6IFsuLi5yZWZlcmVuY2VdLm1hcCgoW25hbWUsIG1lbWJlcnNdKSA9PiAoe1xuICAgICAgdGV4dDogYEB2aWV3c2V0LyR7bmFtZX1gLFxuICAgICAgbGluazogYC9yZWZlcmVuY2UvJHtuYW1lfS9gLFxuICAgICAgaXRlbXM6IGtpbmRzT2YobWVtYmVycykubWFwKChbZm9sZGVyLCB0ZXh0XSkgPT4gKHtcbiAgICAgICAgdGV4dCxcbiAgICAgICAgbGluazogYC9yZWZlcmVuY2UvJHtuYW1lfS8jJHtmb2xkZXJ9YCxcbiAgICAgICAgY29sbGFwc2VkOiB0cnVlLFxuICAgICAgICBpdGVtczogbWVtYmVyc1xuICAgICAgICAgIC5maWx0ZXIoKHsgYWRkcmVzcyB9KSA9PiBhZGRyZXNzLmluY2x1ZGVzKGAvJHtmb2xkZXJ9L2ApKVxuICAgICAgICAgIC5tYXAoKHN5bWJvbCkgPT4gKHsgdGV4dDogc3ltYm9sLm5hbWUsIGxpbms6IGAvJHtzeW1ib2wuYWRkcmVzc31gIH0pKSxcbiAgICAgIH0pKSxcbiAgICB9KSksXG4gICAgJy8nOiBbXG4gICAgICAuLi5bLi4uZ3JvdXBzXS5tYXAoKFt0ZXh0LCBtZW1iZXJzXSkgPT4gKHtcbiAgICAgICAgdGV4dCxcbiAgICAgICAgaXRlbXM6IG1lbWJlcnMubWFwKCh7IHRpdGxlLCBhZGRyZXNzIH0pID0+ICh7IHRleHQ6IHRpdGxlLCBsaW5rOiBhZGRyZXNzID09PSAnaW5kZXgnID8gJy8nIDogYC8ke2FkZHJlc3N9YCB9KSksXG4gICAgICB9KSksXG4gICAgICB7XG4gICAgICAgIHRleHQ6ICdBUEkgcmVmZXJlbmNlJyxcbiAgICAgICAgaXRlbXM6IFsuLi5yZWZlcmVuY2Uua2V5cygpXS5tYXAoKG5hbWUpID0+ICh7IHRleHQ6IGBAdmlld3NldC8ke25hbWV9YCwgbGluazogYC9yZWZlcmVuY2UvJHtuYW1lfS9gIH0pKSxcbiAgICAgIH0sXG4gICAgXSxcbiAgfTtcbn1cblxuLyoqIFRoZSBraW5kcyB0aGF0IGEgcGFja2FnZSBoYXMgYW55IG5hbWVzIG9mLiAqL1xuZnVuY3Rpb24ga2luZHNPZihtZW1iZXJzOiByZWFkb25seSBQdWJsaWNTeW1ib2xbXSk6IFtmb2xkZXI6IHN0cmluZywgdGV4dDogc3RyaW5nXVtdIHtcbiAgcmV0dXJuIE9iamVjdC5lbnRyaWVzKEtJTkRTKS5maWx0ZXIoKFtmb2xkZXJdKSA9PiBtZW1iZXJzLnNvbWUoKHsgYWRkcmVzcyB9KSA9PiBhZGRyZXNzLmluY2x1ZGVzKGAvJHtmb2xkZXJ9L2ApKSk7XG59XG4iXSwKICAibWFwcGluZ3MiOiAiO0FBQThRLFNBQVMsUUFBQUEsYUFBWTtBQUNuUyxTQUFTLHFCQUFxQjtBQUM5QixTQUE0QixvQkFBb0I7OztBQ0Y2TSxTQUFTLFFBQVEsZ0JBQUFDLGVBQWMsaUJBQUFDLHNCQUFxQjtBQUNqVCxTQUFTLFFBQUFDLGFBQVk7OztBQ0VkLFNBQVMsU0FBUyxFQUFFLE9BQU8sUUFBUSxHQUFpQjtBQUN6RCxRQUFNLFFBQVE7QUFBQSxJQUNaO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxFQUNGO0FBQ0EsYUFBVyxDQUFDLE9BQU8sT0FBTyxLQUFLLElBQUksUUFBUSxPQUFPLENBQUMsU0FBUyxLQUFLLEtBQUssR0FBRztBQUN2RSxVQUFNLEtBQUssSUFBSSxNQUFNLEtBQUssSUFBSSxFQUFFO0FBQ2hDLGVBQVcsRUFBRSxPQUFPLFNBQVMsUUFBUSxLQUFLLFFBQVMsT0FBTSxLQUFLLE1BQU0sS0FBSyxNQUFNLE9BQU8sU0FBUyxPQUFPLEVBQUU7QUFBQSxFQUMxRztBQUNBLFFBQU0sS0FBSyxJQUFJLG9CQUFvQixFQUFFO0FBQ3JDLFFBQU0sWUFBWSxJQUFJLElBQUksUUFBUSxJQUFJLENBQUMsRUFBRSxRQUFRLE1BQU0sUUFBUSxRQUFRLFFBQVEsT0FBTyxDQUFDLENBQUM7QUFDeEYsUUFBTSxLQUFLLEdBQUcsQ0FBQyxHQUFHLFNBQVMsRUFBRSxJQUFJLENBQUMsWUFBWSxNQUFNLFFBQVEsUUFBUSxnQkFBZ0IsRUFBRSxDQUFDLE1BQU0sT0FBTyxNQUFNLENBQUM7QUFDM0csU0FBTyxHQUFHLE1BQU0sS0FBSyxJQUFJLENBQUM7QUFBQTtBQUM1Qjs7O0FDaEJBLFNBQVMsY0FBYyxVQUFVLFdBQVcsZ0JBQUFDLGVBQWMsUUFBUSxxQkFBcUI7QUFDdkYsU0FBUyxVQUFVLFNBQVMsUUFBQUMsT0FBTSxpQkFBaUI7OztBQ0ZvTSxTQUFTLGdCQUFnQixvQkFBb0I7QUFDcFMsU0FBUyxZQUFZOzs7QUNDckIsSUFBTSxRQUFRO0FBRWQsSUFBTSxlQUFlO0FBTWQsU0FBUyxTQUFTLE1BQWMsU0FBc0U7QUFDM0csUUFBTSxDQUFDLEVBQUUsT0FBTyxJQUFJLElBQUksSUFBSSw2Q0FBNkMsS0FBSyxJQUFJLEtBQUssQ0FBQztBQUN4RixRQUFNLFNBQVMsUUFBUSxJQUFJLElBQUk7QUFDL0IsUUFBTSxTQUFTLFFBQVEsZUFBZSxRQUFRLFdBQVcsS0FBSyxJQUFJO0FBQ2xFLFNBQU8sVUFBVSxTQUFTLFNBQVksU0FBWTtBQUNwRDtBQUdPLFNBQVMsYUFBYSxVQUFrQixTQUF5RDtBQUN0RyxRQUFNLFFBQVEsb0JBQUksSUFBWTtBQUM5QixpQkFBZSxVQUFVLENBQUMsU0FBUztBQUNqQyxlQUFXLENBQUMsRUFBRSxPQUFPLEVBQUUsS0FBSyxLQUFLLFNBQVMsWUFBWSxHQUFHO0FBQ3ZELFlBQU0sU0FBUyxTQUFTLE1BQU0sT0FBTztBQUNyQyxVQUFJLFdBQVcsT0FBVyxPQUFNLElBQUksT0FBTyxJQUFJO0FBQUEsSUFDakQ7QUFDQSxXQUFPO0FBQUEsRUFDVCxDQUFDO0FBQ0QsU0FBTztBQUNUO0FBR08sU0FBUyxZQUFZLFVBQWtCLFNBQW9EO0FBQ2hHLFFBQU0sU0FBUyxvQkFBSSxJQUFZO0FBQy9CLFNBQU8sZUFBZSxVQUFVLENBQUMsU0FBUztBQUN4QyxRQUFJLE9BQU8sS0FBSyxJQUFJLEdBQUc7QUFDckIsYUFBTyxNQUFNO0FBQ2IsYUFBTztBQUFBLElBQ1Q7QUFDQSxXQUFPLEtBQUssV0FBVyxjQUFjLENBQUMsT0FBTyxTQUE2QjtBQUN4RSxZQUFNLFNBQVMsU0FBUyxRQUFRLElBQUksT0FBTztBQUMzQyxVQUFJLFdBQVcsVUFBYSxPQUFPLElBQUksT0FBTyxJQUFJLEVBQUcsUUFBTztBQUM1RCxhQUFPLElBQUksT0FBTyxJQUFJO0FBQ3RCLGFBQU8sSUFBSSxLQUFLLE1BQU0sT0FBTyxPQUFPO0FBQUEsSUFDdEMsQ0FBQztBQUFBLEVBQ0gsQ0FBQztBQUNIO0FBR08sU0FBUyxlQUFlLFVBQWtCLE1BQXdDO0FBQ3ZGLE1BQUk7QUFDSixRQUFNLFFBQVEsU0FBUyxNQUFNLElBQUksRUFBRSxJQUFJLENBQUMsU0FBUztBQUMvQyxVQUFNLE9BQU8sTUFBTSxLQUFLLElBQUksSUFBSSxDQUFDO0FBQ2pDLFFBQUksVUFBVSxVQUFhLFNBQVMsT0FBVyxRQUFPLEtBQUssSUFBSTtBQUMvRCxRQUFJLFNBQVMsT0FBVyxTQUFRLFVBQVUsU0FBWSxPQUFPLFVBQVUsT0FBTyxTQUFZO0FBQzFGLFdBQU87QUFBQSxFQUNULENBQUM7QUFDRCxTQUFPLE1BQU0sS0FBSyxJQUFJO0FBQ3hCOzs7QURsRE8sU0FBUyxXQUNkQyxPQUNBLFFBQ0EsT0FDQSxTQUNNO0FBQ04sUUFBTSxVQUFVLG9CQUFJLElBQTBCO0FBQzlDLGFBQVcsUUFBUSxPQUFPO0FBQ3hCLFFBQUksQ0FBQyxLQUFLLE9BQU8sV0FBVyxPQUFPLEVBQUc7QUFDdEMsZUFBVyxRQUFRLGFBQWEsYUFBYSxLQUFLQSxPQUFNLEtBQUssTUFBTSxHQUFHLE1BQU0sR0FBRyxPQUFPLEdBQUc7QUFDdkYsY0FBUSxJQUFJLE1BQU0sQ0FBQyxHQUFJLFFBQVEsSUFBSSxJQUFJLEtBQUssQ0FBQyxHQUFJLElBQUksQ0FBQztBQUFBLElBQ3hEO0FBQUEsRUFDRjtBQUNBLGFBQVcsQ0FBQyxNQUFNLElBQUksS0FBSyxTQUFTO0FBQ2xDLFVBQU0sVUFBVSxRQUFRLElBQUksSUFBSSxHQUFHLFdBQVc7QUFDOUMsUUFBSSxRQUFRLFNBQVMsR0FBRyxFQUFHO0FBQzNCLFVBQU0sUUFBUSxLQUFLLElBQUksQ0FBQyxTQUFTLE1BQU0sS0FBSyxLQUFLLE1BQU0sS0FBSyxPQUFPLEdBQUc7QUFDdEUsbUJBQWUsS0FBSyxRQUFRLEdBQUcsT0FBTyxLQUFLLEdBQUc7QUFBQTtBQUFBO0FBQUEsRUFBaUMsTUFBTSxLQUFLLElBQUksQ0FBQztBQUFBLENBQUk7QUFBQSxFQUNyRztBQUNGOzs7QUUxQjJPLFNBQVMsbUJBQW1CO0FBQ3ZRLFNBQVMsUUFBQUMsYUFBWTs7O0FDQWQsSUFBTSxXQUFXLENBQUMsUUFBUSxRQUFRLFdBQVcsUUFBUTs7O0FEYzVELElBQU0sT0FBb0Q7QUFBQSxFQUN4RCxPQUFPLENBQUMsU0FBUyxVQUFVLHdCQUF3QixjQUFjLFNBQVM7QUFBQSxFQUMxRSxTQUFTO0FBQUEsSUFDUDtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxJQUNBO0FBQUEsSUFDQTtBQUFBLElBQ0E7QUFBQSxFQUNGO0FBQUEsRUFDQSxPQUFPLENBQUMsV0FBVyxjQUFjLFlBQVksWUFBWTtBQUFBLEVBQ3pELFFBQVEsQ0FBQyxrQkFBa0IsZUFBZSxXQUFXO0FBQUEsRUFDckQsUUFBUSxDQUFDLFVBQVUsVUFBVSxnQkFBZ0IsVUFBVSxVQUFVLGFBQWEsV0FBVyxRQUFRO0FBQUEsRUFDakcsV0FBVyxDQUFDLGNBQWMsVUFBVSxZQUFZLG1CQUFtQixlQUFlLGNBQWM7QUFDbEc7QUFHQSxJQUFNLFNBQTBCO0FBQUEsRUFDOUIsRUFBRSxRQUFRLGFBQWEsU0FBUyxTQUFTLE9BQU8sVUFBVTtBQUFBLEVBQzFELEdBQUcsU0FBUyxJQUFJLENBQUMsVUFBVSxFQUFFLFFBQVEsWUFBWSxJQUFJLGNBQWMsU0FBUyxZQUFZLElBQUksSUFBSSxPQUFPLFdBQVcsRUFBRTtBQUFBLEVBQ3BILEVBQUUsUUFBUSxtQkFBbUIsU0FBUyxnQkFBZ0IsT0FBTyxVQUFVO0FBQUEsRUFDdkUsRUFBRSxRQUFRLGVBQWUsU0FBUyxhQUFhLE9BQU8sVUFBVTtBQUFBLEVBQ2hFLEVBQUUsUUFBUSxnQkFBZ0IsU0FBUyxXQUFXLE9BQU8sVUFBVTtBQUFBLEVBQy9ELEdBQUcsU0FBUyxJQUFJLENBQUMsVUFBVTtBQUFBLElBQ3pCLFFBQVEsWUFBWSxJQUFJO0FBQUEsSUFDeEIsU0FBUyxZQUFZLElBQUk7QUFBQSxJQUN6QixPQUFPO0FBQUEsRUFDVCxFQUFFO0FBQ0o7QUFNTyxTQUFTLFVBQVVDLE9BQStCO0FBQ3ZELFFBQU0sU0FBUyxPQUFPLFFBQVEsSUFBSSxFQUFFO0FBQUEsSUFBUSxDQUFDLENBQUMsT0FBTyxLQUFLLE1BQ3hELE1BQU0sSUFBSSxDQUFDLFVBQVUsRUFBRSxRQUFRLFFBQVEsSUFBSSxPQUFPLFNBQVMsTUFBTSxNQUFNLEVBQUU7QUFBQSxFQUMzRTtBQUNBLFFBQU0sVUFBVSxJQUFJLElBQUksT0FBTyxJQUFJLENBQUMsRUFBRSxPQUFPLE1BQU0sTUFBTSxDQUFDO0FBQzFELFFBQU0sT0FBTyxZQUFZQyxNQUFLRCxPQUFNLE1BQU0sQ0FBQyxFQUFFLE9BQU8sQ0FBQyxTQUFTLEtBQUssU0FBUyxLQUFLLEtBQUssQ0FBQyxRQUFRLElBQUksUUFBUSxJQUFJLEVBQUUsQ0FBQztBQUNsSCxNQUFJLEtBQUssU0FBUyxFQUFHLE9BQU0sSUFBSSxNQUFNLDJDQUEyQyxLQUFLLEtBQUssSUFBSSxDQUFDLEVBQUU7QUFDakcsU0FBTyxDQUFDLEdBQUcsUUFBUSxHQUFHLE1BQU07QUFDOUI7OztBRTFEQSxTQUFTLFFBQUFFLGFBQVk7QUFDckIsU0FBUyxhQUF5QyxzQkFBc0I7QUFvQnhFLElBQU0sV0FBZ0Qsb0JBQUksSUFBSTtBQUFBLEVBQzVELENBQUMsZUFBZSxPQUFPLFNBQVM7QUFBQSxFQUNoQyxDQUFDLGVBQWUsV0FBVyxZQUFZO0FBQUEsRUFDdkMsQ0FBQyxlQUFlLFVBQVUsV0FBVztBQUFBLEVBQ3JDLENBQUMsZUFBZSxXQUFXLGNBQWM7QUFDM0MsQ0FBQztBQUVELElBQU0sV0FBVztBQUFBLEVBQ2Ysb0JBQW9CO0FBQUEsRUFDcEIsb0JBQW9CLENBQUMsU0FBUyxhQUFhLFlBQVksV0FBVztBQUFBLEVBQ2xFLGVBQWU7QUFBQSxFQUNmLGdCQUFnQjtBQUFBLEVBQ2hCLGlCQUFpQjtBQUFBLEVBQ2pCLGVBQWU7QUFBQSxFQUNmLGtCQUFrQjtBQUFBLEVBQ2xCLGFBQWE7QUFBQSxFQUNiLG9CQUFvQixFQUFFLFFBQVEsQ0FBQyxFQUFFLEtBQUssTUFBd0IsWUFBWSxJQUFJLEdBQUc7QUFDbkY7QUFHQSxlQUFzQixjQUFjQyxPQUFrQztBQUNwRSxRQUFNLE1BQU0sTUFBTSxZQUFZLHFCQUFxQjtBQUFBLElBQ2pELEdBQUk7QUFBQSxJQUNKLE1BQU07QUFBQSxJQUNOLGFBQWEsU0FBUyxJQUFJLENBQUMsU0FBU0MsTUFBS0QsT0FBTSxZQUFZLE1BQU0sY0FBYyxDQUFDO0FBQUEsSUFDaEYsVUFBVUMsTUFBS0QsT0FBTSxtQ0FBbUM7QUFBQSxJQUN4RCxRQUFRLENBQUMseUJBQXlCO0FBQUE7QUFBQSxJQUVsQyxtQkFBbUI7QUFBQSxJQUNuQixnQkFBZ0I7QUFBQSxJQUNoQixRQUFRO0FBQUEsSUFDUixpQkFBaUI7QUFBQSxJQUNqQixnQkFBZ0I7QUFBQSxJQUNoQixVQUFVO0FBQUEsRUFDWixDQUFDO0FBQ0QsUUFBTSxVQUFVLE1BQU0sSUFBSSxRQUFRO0FBQ2xDLE1BQUksWUFBWSxPQUFXLE9BQU0sSUFBSSxNQUFNLHFDQUFxQztBQUNoRixRQUFNLFVBQVUsUUFBUSxZQUFZLENBQUM7QUFDckMsYUFBVyxVQUFVLFFBQVMsUUFBTyxPQUFPLE9BQU8sS0FBSyxRQUFRLFVBQVUsRUFBRTtBQUU1RSxRQUFNLFNBQVMsU0FBUyxRQUFRLENBQUMsU0FBUyxRQUFRLE9BQU8sQ0FBQyxXQUFXLE9BQU8sU0FBUyxJQUFJLENBQUM7QUFDMUYsU0FBTztBQUFBLElBQ0wsU0FBUyxPQUFPLFFBQVEsQ0FBQyxZQUFZLE9BQU8sWUFBWSxDQUFDLEdBQUcsUUFBUSxTQUFTLENBQUM7QUFBQSxJQUM5RSxTQUFTLE9BQU8sUUFBUSxDQUFDLFlBQVksT0FBTyxZQUFZLENBQUMsR0FBRyxJQUFJLENBQUMsVUFBVSxTQUFTLE9BQU8sTUFBTSxLQUFLLENBQUMsQ0FBQztBQUFBLElBQ3hHLE9BQU8sQ0FBQyxXQUFXLElBQUksUUFBUSxZQUFZLEVBQUUsTUFBTSxZQUFZLE1BQU0sT0FBTyxHQUFHLE9BQU87QUFBQSxFQUN4RjtBQUNGO0FBRUEsU0FBUyxTQUFTLFFBQWdCLEVBQUUsTUFBTSxLQUFLLEdBQXdDO0FBQ3JGLFFBQU0sU0FBUyxTQUFTLElBQUksSUFBSTtBQUNoQyxRQUFNLFFBQVEsV0FBVyxTQUFZLEtBQUssS0FBSyxZQUFZLENBQUMsS0FBSyxJQUFJLE1BQU0sSUFBSSxJQUFJO0FBQ25GLFNBQU8sRUFBRSxNQUFNLFlBQVksU0FBUyxlQUFlLFVBQVUsU0FBUyxhQUFhLE1BQU0sR0FBRyxLQUFLLEdBQUc7QUFDdEc7QUFFQSxTQUFTLFVBQVUsRUFBRSxNQUFNLE9BQU8sV0FBVyxDQUFDLEVBQUUsR0FBNkQ7QUFDM0csU0FBTywrQkFBK0IsS0FBSyxLQUFLLElBQUksU0FBUyxJQUFJLENBQUMsRUFBRSxLQUFLLE9BQU8sRUFBRSxPQUFPLEtBQUssRUFBRSxJQUFJLENBQUM7QUFDdkc7OztBTHZEQSxlQUFzQixVQUFVRSxPQUFjLFFBQStCO0FBQzNFLFNBQU8sUUFBUSxFQUFFLFdBQVcsTUFBTSxPQUFPLEtBQUssQ0FBQztBQUMvQyxRQUFNLEVBQUUsU0FBUyxNQUFNLElBQUksTUFBTSxjQUFjQSxLQUFJO0FBQ25ELFFBQU0sTUFBTUMsTUFBSyxRQUFRLFdBQVcsQ0FBQztBQUNyQyxRQUFNLFNBQVMsSUFBSSxJQUFJLFFBQVEsV0FBVyxFQUFFLElBQUksQ0FBQyxXQUFXLENBQUMsT0FBTyxNQUFNLE1BQU0sQ0FBQyxDQUFDO0FBQ2xGLFFBQU0sUUFBUSxVQUFVRCxLQUFJLEVBQUUsSUFBSSxDQUFDLFNBQVMsVUFBVUEsT0FBTSxRQUFRLE1BQU0sTUFBTSxDQUFDO0FBQ2pGLGFBQVdBLE9BQU0sUUFBUSxPQUFPLE1BQU07QUFDdEMsYUFBVyxTQUFTLFNBQVMsY0FBYyxFQUFFLEtBQUtBLE1BQUssQ0FBQyxHQUFHO0FBQ3pELGlCQUFhQyxNQUFLRCxPQUFNLEtBQUssR0FBR0MsTUFBSyxRQUFRLFNBQVMsS0FBSyxDQUFDLENBQUM7QUFBQSxFQUMvRDtBQUNBLFNBQU8sRUFBRSxPQUFPLFNBQVMsT0FBTztBQUNsQztBQUdPLFNBQVMsVUFDZEQsT0FDQSxRQUNBLE1BQ0EsU0FDWTtBQUNaLFFBQU0sU0FBU0UsY0FBYUQsTUFBS0QsT0FBTSxLQUFLLE1BQU0sR0FBRyxNQUFNO0FBQzNELFFBQU0sWUFBWSxJQUFJLElBQUksVUFBVUEsS0FBSSxFQUFFLElBQUksQ0FBQyxVQUFVLENBQUMsTUFBTSxRQUFRLE1BQU0sT0FBTyxDQUFDLENBQUM7QUFDdkYsUUFBTSxPQUFPLE9BQU8sYUFBYSxNQUFNLEdBQUcsQ0FBQyxXQUFXO0FBQ3BELFVBQU0sQ0FBQ0csUUFBTyxJQUFJLFFBQVEsSUFBSSxPQUFPLE1BQU0sS0FBSyxDQUFDO0FBQ2pELFVBQU0sVUFBVSxVQUFVLElBQUksVUFBVUYsTUFBSyxRQUFRLEtBQUssTUFBTSxHQUFHRSxLQUFJLENBQUMsQ0FBQztBQUN6RSxRQUFJLFlBQVksT0FBVyxRQUFPQSxNQUFLLFNBQVMsTUFBTSxJQUFJLFNBQVM7QUFDbkUsV0FBTyxJQUFJLE9BQU8sR0FBRyxhQUFhLFNBQVksS0FBSyxJQUFJLFFBQVEsRUFBRTtBQUFBLEVBQ25FLENBQUM7QUFDRCxRQUFNLE9BQU9GLE1BQUssUUFBUSxHQUFHLEtBQUssT0FBTyxLQUFLO0FBQzlDLFlBQVUsUUFBUSxJQUFJLEdBQUcsRUFBRSxXQUFXLEtBQUssQ0FBQztBQUM1QyxnQkFBYyxNQUFNLFlBQVksTUFBTSxPQUFPLENBQUM7QUFDOUMsU0FBTyxFQUFFLEdBQUcsTUFBTSxHQUFHLFFBQVEsTUFBTSxFQUFFO0FBQ3ZDO0FBR0EsU0FBUyxhQUFhLFVBQTBCO0FBQzlDLFNBQU8sU0FBUyxXQUFXLDJCQUEyQixFQUFFLEVBQUUsV0FBVyxxQkFBcUIsSUFBSTtBQUNoRztBQUdBLFNBQVMsT0FBTyxVQUFrQixXQUEyRDtBQUMzRixTQUFPO0FBQUEsSUFBZTtBQUFBLElBQVUsQ0FBQyxTQUMvQixLQUFLLFdBQVcsMENBQTBDLENBQUMsT0FBTyxNQUFjLFdBQW1CO0FBQ2pHLFVBQUksdUJBQXVCLEtBQUssTUFBTSxFQUFHLFFBQU87QUFDaEQsWUFBTSxVQUFVLFVBQVUsTUFBTTtBQUNoQyxhQUFPLFlBQVksU0FBWSxPQUFPLElBQUksSUFBSSxLQUFLLE9BQU87QUFBQSxJQUM1RCxDQUFDO0FBQUEsRUFDSDtBQUNGO0FBRUEsU0FBUyxRQUFRLFVBQXNEO0FBQ3JFLFFBQU0sUUFBUSxZQUFZLEtBQUssUUFBUSxJQUFJLENBQUMsS0FBSztBQUNqRCxRQUFNLGFBQWEsU0FBUyxNQUFNLFFBQVEsRUFBRSxJQUFJLENBQUMsY0FBYyxVQUFVLFdBQVcsTUFBTSxHQUFHLEVBQUUsS0FBSyxDQUFDO0FBQ3JHLFFBQU0sUUFBUSxXQUFXLEtBQUssQ0FBQyxjQUFjLFdBQVcsS0FBSyxTQUFTLEtBQUssVUFBVSxTQUFTLEVBQUUsS0FBSztBQUNyRyxRQUFNLFFBQVEsTUFBTSxXQUFXLDBCQUEwQixJQUFJO0FBQzdELFNBQU8sRUFBRSxPQUFPLE1BQU0sV0FBVyxLQUFLLEVBQUUsR0FBRyxTQUFTLG1CQUFtQixLQUFLLEtBQUssSUFBSSxDQUFDLEtBQUssTUFBTTtBQUNuRzs7O0FGeEVPLFNBQVMsY0FBY0csT0FBWUMsUUFBZSxLQUFtQjtBQUMxRSxTQUFPQSxRQUFPLEtBQUs7QUFBQSxJQUNqQixXQUFXO0FBQUEsSUFDWCxRQUFRLENBQUMsU0FBUyxDQUFDLFlBQVksS0FBSyxLQUFLLE1BQU1BLE9BQU0sTUFBTSxDQUFDLEtBQUssS0FBSyxTQUFTLEtBQUs7QUFBQSxFQUN0RixDQUFDO0FBQ0QsRUFBQUMsZUFBY0MsTUFBSyxLQUFLLFVBQVUsR0FBRyxTQUFTSCxLQUFJLENBQUM7QUFDckQ7QUFHTyxTQUFTLGNBQWNBLE9BQVlDLFFBQXVCO0FBQy9ELFNBQU87QUFBQSxJQUNMLE1BQU07QUFBQSxJQUNOLGdCQUFnQixRQUFRO0FBQ3RCLGFBQU8sWUFBWSxJQUFJLENBQUMsU0FBUyxVQUFVLFNBQVM7QUFDbEQsY0FBTSxPQUFPLFFBQVEsT0FBTztBQUM1QixjQUFNLFdBQVcsUUFBUSxRQUFRLGdCQUFnQixNQUFNLFlBQVksS0FBSyxTQUFTLEdBQUc7QUFDcEYsWUFBSSxZQUFZLENBQUMsY0FBYyxLQUFLLElBQUksRUFBRyxRQUFPLEtBQUs7QUFDdkQsaUJBQVMsVUFBVSxnQkFBZ0IsMkJBQTJCO0FBQzlELFlBQUksU0FBUyxZQUFhLFFBQU8sS0FBSyxTQUFTLElBQUksU0FBU0QsS0FBSSxDQUFDO0FBQ2pFLFlBQUk7QUFDRixtQkFBUyxJQUFJSSxjQUFhRCxNQUFLRixRQUFPLElBQUksQ0FBQyxDQUFDO0FBQUEsUUFDOUMsUUFBUTtBQUNOLGVBQUs7QUFBQSxRQUNQO0FBQUEsTUFDRixDQUFDO0FBQUEsSUFDSDtBQUFBLEVBQ0Y7QUFDRjtBQUdPLFNBQVMsY0FBY0QsT0FBWUssT0FBY0osUUFBdUI7QUFDN0UsU0FBTztBQUFBLElBQ0wsTUFBTTtBQUFBLElBQ04sZ0JBQWdCLEVBQUUsUUFBUSxHQUFHO0FBQzNCLFlBQU0sUUFBUSxJQUFJLElBQUlELE1BQUssTUFBTSxJQUFJLENBQUMsU0FBUyxDQUFDRyxNQUFLRSxPQUFNLEtBQUssTUFBTSxHQUFHLElBQUksQ0FBQyxDQUFDO0FBQy9FLGNBQVEsSUFBSSxDQUFDLEdBQUcsTUFBTSxLQUFLLENBQUMsQ0FBQztBQUM3QixjQUFRLEdBQUcsVUFBVSxDQUFDLFNBQVM7QUFDN0IsY0FBTSxPQUFPLE1BQU0sSUFBSSxJQUFJO0FBQzNCLFlBQUksU0FBUyxPQUFXLFdBQVVBLE9BQU1KLFFBQU8sTUFBTUQsTUFBSyxNQUFNO0FBQUEsTUFDbEUsQ0FBQztBQUFBLElBQ0g7QUFBQSxFQUNGO0FBQ0Y7OztBUXpDQSxTQUFTLFlBQVksTUFBd0M7QUFDM0QsUUFBTSxTQUNKLDZNQUE2TTtBQUFBLElBQzNNO0FBQUEsRUFDRjtBQUNGLFFBQU0sUUFBUSxLQUFLLFlBQVk7QUFDL0IsTUFBSSxPQUFPLFNBQVMsS0FBSyxFQUFHLFFBQU87QUFDbkMsUUFBTSxRQUFRLEtBQUssTUFBTSx1QkFBdUIsRUFBRSxJQUFJLENBQUMsU0FBUyxLQUFLLFlBQVksQ0FBQztBQUNsRixRQUFNLFdBQVcsTUFBTSxTQUFTLElBQUksTUFBTSxRQUFRLE1BQU0sRUFBRSxJQUFJO0FBQzlELFNBQU8sQ0FBQyxHQUFHLG9CQUFJLElBQUksQ0FBQyxPQUFPLFVBQVUsR0FBSSxNQUFNLFNBQVMsSUFBSSxRQUFRLENBQUMsQ0FBRSxDQUFDLENBQUM7QUFDM0U7QUFFTyxJQUFNLGNBQWM7QUFBQSxFQUN6QixTQUFTLEVBQUUsWUFBWTtBQUFBLEVBQ3ZCLGVBQWU7QUFBQSxJQUNiLE9BQU8sQ0FBQyxTQUFrQixLQUFLLFNBQVMsSUFBSSxPQUFPO0FBQUEsSUFDbkQsUUFBUSxDQUFDLFNBQWlCLEtBQUssU0FBUztBQUFBLElBQ3hDLE9BQU8sRUFBRSxPQUFPLEdBQUcsUUFBUSxHQUFHLE1BQU0sRUFBRTtBQUFBO0FBQUEsSUFFdEMsZUFBZSxDQUFDLE9BQWdCLHFEQUFxRCxLQUFLLEVBQUUsSUFBSSxNQUFNO0FBQUEsRUFDeEc7QUFDRjs7O0FDekJBLElBQU0sUUFBUSxFQUFFLFNBQVMsV0FBVyxZQUFZLGNBQWMsV0FBVyxhQUFhLGdCQUFnQixRQUFRO0FBR3ZHLFNBQVMsVUFBVSxFQUFFLE9BQU8sUUFBUSxHQUFvQztBQUM3RSxRQUFNLFNBQVMsSUFBSSxRQUFRLE9BQU8sQ0FBQyxFQUFFLE1BQU0sTUFBTSxLQUFLO0FBQ3RELFFBQU0sWUFBWSxJQUFJLFFBQVEsU0FBUyxDQUFDLEVBQUUsUUFBUSxNQUFNLFFBQVEsTUFBTSxHQUFHLEVBQUUsQ0FBQyxHQUFHLE1BQU0sR0FBRyxFQUFFLENBQUMsS0FBSyxFQUFFO0FBQ2xHLFNBQU87QUFBQSxJQUNMLGVBQWUsQ0FBQyxHQUFHLFNBQVMsRUFBRSxJQUFJLENBQUMsQ0FBQyxNQUFNLE9BQU8sT0FBTztBQUFBLE1BQ3RELE1BQU0sWUFBWSxJQUFJO0FBQUEsTUFDdEIsTUFBTSxjQUFjLElBQUk7QUFBQSxNQUN4QixPQUFPLFFBQVEsT0FBTyxFQUFFLElBQUksQ0FBQyxDQUFDLFFBQVEsSUFBSSxPQUFPO0FBQUEsUUFDL0M7QUFBQSxRQUNBLE1BQU0sY0FBYyxJQUFJLEtBQUssTUFBTTtBQUFBLFFBQ25DLFdBQVc7QUFBQSxRQUNYLE9BQU8sUUFDSixPQUFPLENBQUMsRUFBRSxRQUFRLE1BQU0sUUFBUSxTQUFTLElBQUksTUFBTSxHQUFHLENBQUMsRUFDdkQsSUFBSSxDQUFDLFlBQVksRUFBRSxNQUFNLE9BQU8sTUFBTSxNQUFNLElBQUksT0FBTyxPQUFPLEdBQUcsRUFBRTtBQUFBLE1BQ3hFLEVBQUU7QUFBQSxJQUNKLEVBQUU7QUFBQSxJQUNGLEtBQUs7QUFBQSxNQUNILEdBQUcsQ0FBQyxHQUFHLE1BQU0sRUFBRSxJQUFJLENBQUMsQ0FBQyxNQUFNLE9BQU8sT0FBTztBQUFBLFFBQ3ZDO0FBQUEsUUFDQSxPQUFPLFFBQVEsSUFBSSxDQUFDLEVBQUUsT0FBTyxRQUFRLE9BQU8sRUFBRSxNQUFNLE9BQU8sTUFBTSxZQUFZLFVBQVUsTUFBTSxJQUFJLE9BQU8sR0FBRyxFQUFFO0FBQUEsTUFDL0csRUFBRTtBQUFBLE1BQ0Y7QUFBQSxRQUNFLE1BQU07QUFBQSxRQUNOLE9BQU8sQ0FBQyxHQUFHLFVBQVUsS0FBSyxDQUFDLEVBQUUsSUFBSSxDQUFDLFVBQVUsRUFBRSxNQUFNLFlBQVksSUFBSSxJQUFJLE1BQU0sY0FBYyxJQUFJLElBQUksRUFBRTtBQUFBLE1BQ3hHO0FBQUEsSUFDRjtBQUFBLEVBQ0Y7QUFDRjtBQUdBLFNBQVMsUUFBUSxTQUFvRTtBQUNuRixTQUFPLE9BQU8sUUFBUSxLQUFLLEVBQUUsT0FBTyxDQUFDLENBQUMsTUFBTSxNQUFNLFFBQVEsS0FBSyxDQUFDLEVBQUUsUUFBUSxNQUFNLFFBQVEsU0FBUyxJQUFJLE1BQU0sR0FBRyxDQUFDLENBQUM7QUFDbEg7OztBVnZDdUssSUFBTSwyQ0FBMkM7QUFReE4sSUFBTSxPQUFPLGNBQWMsSUFBSSxJQUFJLFlBQVksd0NBQWUsQ0FBQztBQUMvRCxJQUFNLFFBQVFNLE1BQUssTUFBTSxrQkFBa0I7QUFDM0MsSUFBTSxPQUFPLE1BQU0sVUFBVSxNQUFNLEtBQUs7QUFFeEMsSUFBTSxPQUNKO0FBR0YsU0FBUyxXQUFXLFNBQXlCO0FBQzNDLFNBQU8sUUFDSixZQUFZLEVBQ1osV0FBVyx1QkFBdUIsRUFBRSxFQUNwQyxLQUFLLEVBQ0wsV0FBVyxPQUFPLEdBQUc7QUFDMUI7QUFHQSxJQUFPLGlCQUFRLGFBQWE7QUFBQSxFQUMxQixPQUFPO0FBQUEsRUFDUCxhQUFhO0FBQUEsRUFDYixNQUFNO0FBQUEsRUFDTixNQUFNLENBQUMsQ0FBQyxRQUFRLEVBQUUsS0FBSyxRQUFRLE1BQU0sS0FBSyxDQUFDLENBQUM7QUFBQSxFQUM1QyxRQUFRO0FBQUEsRUFDUixXQUFXO0FBQUE7QUFBQSxFQUVYLGlCQUFpQjtBQUFBLEVBQ2pCLFVBQVU7QUFBQSxJQUNSLFFBQVEsRUFBRSxTQUFTLFdBQVc7QUFBQSxJQUM5QixRQUFRLENBQUMsT0FBTztBQUVkLFNBQUcsU0FBUyxNQUFNLGFBQWEsQ0FBQyxRQUFRLE9BQU8sU0FBUyxLQUFLLFNBQVM7QUFDcEUsY0FBTSxRQUFRLE9BQU8sS0FBSztBQUMxQixZQUFJLFVBQVUsT0FBVyxPQUFNLE9BQU87QUFDdEMsZUFBTyxHQUFHLFNBQVMsTUFBTSxRQUFRLFFBQVEsT0FBTyxTQUFTLEtBQUssSUFBSSxLQUFLO0FBQUEsTUFDekU7QUFBQSxJQUNGO0FBQUEsSUFDQSxPQUFPLEVBQUUsT0FBTyw4QkFBOEIsTUFBTSw0QkFBNEI7QUFBQSxFQUNsRjtBQUFBLEVBQ0EsYUFBYTtBQUFBLElBQ1gsUUFBUSxFQUFFLFVBQVUsU0FBUyxTQUFTLEVBQUUsWUFBWSxZQUFZLEVBQUU7QUFBQSxJQUNsRSxLQUFLO0FBQUEsTUFDSCxFQUFFLE1BQU0sU0FBUyxNQUFNLFNBQVM7QUFBQSxNQUNoQyxFQUFFLE1BQU0sYUFBYSxNQUFNLGNBQWM7QUFBQSxNQUN6QyxFQUFFLE1BQU0sV0FBVyxNQUFNLFdBQVc7QUFBQSxJQUN0QztBQUFBLElBQ0EsU0FBUyxVQUFVLElBQUk7QUFBQSxJQUN2QixTQUFTLENBQUMsR0FBRyxDQUFDO0FBQUEsRUFDaEI7QUFBQSxFQUNBLE1BQU07QUFBQSxJQUNKLFNBQVMsQ0FBQyxjQUFjLE1BQU0sS0FBSyxHQUFHLGNBQWMsTUFBTSxNQUFNLEtBQUssQ0FBQztBQUFBO0FBQUEsSUFFdEUsT0FBTyxFQUFFLHVCQUF1QixJQUFLO0FBQUEsRUFDdkM7QUFBQSxFQUNBLFVBQVUsQ0FBQyxFQUFFLE9BQU8sTUFBTSxjQUFjLE1BQU0sT0FBTyxNQUFNO0FBQzdELENBQUM7IiwKICAibmFtZXMiOiBbImpvaW4iLCAicmVhZEZpbGVTeW5jIiwgIndyaXRlRmlsZVN5bmMiLCAiam9pbiIsICJyZWFkRmlsZVN5bmMiLCAiam9pbiIsICJyb290IiwgImpvaW4iLCAicm9vdCIsICJqb2luIiwgImpvaW4iLCAicm9vdCIsICJqb2luIiwgInJvb3QiLCAiam9pbiIsICJyZWFkRmlsZVN5bmMiLCAicGF0aCIsICJzaXRlIiwgInN0YWdlIiwgIndyaXRlRmlsZVN5bmMiLCAiam9pbiIsICJyZWFkRmlsZVN5bmMiLCAicm9vdCIsICJqb2luIl0KfQo=
