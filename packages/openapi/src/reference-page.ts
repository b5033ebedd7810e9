import { sendStaticFile, type StaticFile, staticFile } from '@viewset/core';
import { fastify, type FastifyInstance } from 'fastify';
import scalar from '@scalar/fastify-api-reference';

/** Allows scripts from this server and requests to this server, and nothing else. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Disables all features that would contact another server. */
const CONFIGURATION = {
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
  proxyUrl: '',
} as const;

const ROUTE = { schema: { hide: true }, config: { public: true } };

/**
 * Adds the page that shows a document, and its one script. The page has no inline script, which a policy would have to
 * allow.
 */
export function addReferencePage(app: FastifyInstance, path: string, documentUrl: string, title = 'API'): void {
  const scriptPath = `${path}/reference.js`;
  const page = staticFile('text/html; charset=utf-8', pageOf(title, documentUrl, app.prefix + scriptPath));
  app.get(path, ROUTE, async (request, reply) => {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY).header('x-content-type-options', 'nosniff');
    return sendStaticFile(request, reply, page);
  });
  let script: Promise<StaticFile> | undefined;
  app.get(scriptPath, ROUTE, async (request, reply) => sendStaticFile(request, reply, await (script ??= readScript())));
}

function pageOf(title: string, documentUrl: string, scriptUrl: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>${escapeHtml(title)}</title>
    <link rel="icon" href="data:,">
    <meta name="viewport" content="width=device-width, initial-scale=1">
  </head>
  <body>
    <script id="api-reference" data-url="${escapeHtml(documentUrl)}" data-configuration="${escapeHtml(JSON.stringify(CONFIGURATION))}"></script>
    <script src="${escapeHtml(scriptUrl)}"></script>
    <noscript>This page needs JavaScript. The document that it shows is <a href="${escapeHtml(documentUrl)}">${escapeHtml(documentUrl)}</a>.</noscript>
  </body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

/** Reads the script from Scalar's package. Scalar's own page has an inline script and starts with a redirect. */
async function readScript(): Promise<StaticFile> {
  const shelf = fastify();
  await shelf.register(scalar, { routePrefix: '/reference', configuration: { url: '/' } });
  const { body } = await shelf.inject('/reference/js/scalar.js');
  await shelf.close();
  return staticFile('text/javascript; charset=utf-8', body);
}
