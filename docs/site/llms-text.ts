import type { Site } from './stage.ts';

/** Returns the text of `llms.txt`: every page with its first sentence, for programs that read the Markdown. */
export function llmsText({ pages, symbols }: Site): string {
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
  return `${lines.join('\n')}\n`;
}
