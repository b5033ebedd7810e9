/** What the page is told from outside. */
export interface PageFacts {
  readonly title: string;
  readonly documentPath: string;
  readonly scriptUrl: string;
  readonly styleUrl: string;
}

/** Writes the page: no script or style of its own, which a policy would have to allow, and no data. */
export function htmlOf({ title, documentPath, scriptUrl, styleUrl }: PageFacts): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${escapeHtml(title)}</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${escapeHtml(styleUrl)}">
    <script type="module" src="${escapeHtml(scriptUrl)}"></script>
  </head>
  <body>
    <div id="explorer" data-document="${escapeHtml(documentPath)}"></div>
    <noscript>This page needs JavaScript. The API itself does not: ask it for <code>application/json</code>.</noscript>
  </body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
