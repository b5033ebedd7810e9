import type { LaterScript } from './later-scripts.ts';

/** The values that the server puts into the page. */
export interface PageFacts {
  readonly title: string;
  readonly documentPath: string;
  readonly scriptUrl: string;
  readonly styleUrl: string;
  /** The URLs of the scripts that the page loads later, by name. `texts` replaces the page's own texts. */
  readonly laterUrls: Readonly<Partial<Record<LaterScript | 'texts', string>>>;
  readonly language: string;
  /** The sentence to show if scripts are disabled. */
  readonly noScript: string;
}

/**
 * Writes the page. It has no inline script or style, which a policy would have to allow, and no data. The title is
 * included, so that the browser can paint it before the script runs.
 */
export function htmlOf(facts: PageFacts): string {
  const { title, documentPath, scriptUrl, styleUrl, laterUrls, language, noScript } = facts;
  const data = { document: documentPath, ...laterUrls };
  const attributes = Object.entries(data).map(([name, value]) => ` data-${name}="${escapeHtml(value)}"`);
  return `<!doctype html>
<html lang="${escapeHtml(language)}">
  <head>
    <meta charset="utf-8">
    <title>${escapeHtml(title)}</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http:%2F%2Fwww.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%234f56c9'/%3E%3Cpath d='M4 5h8M4 8h8M4 11h5' stroke='%23fff' stroke-width='1.5' stroke-linecap='round'/%3E%3C/svg%3E">
    <link rel="stylesheet" href="${escapeHtml(styleUrl)}">
    <script type="module" src="${escapeHtml(scriptUrl)}"></script>
  </head>
  <body>
    <div id="explorer"${attributes.join('')}><header class="top"><span class="brand">${escapeHtml(title)}</span></header></div>
    <noscript>${escapeHtml(noScript)}</noscript>
  </body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
