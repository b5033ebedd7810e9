import {
  addVary,
  ImproperlyConfigured,
  type OperationPlan,
  sendStaticFile,
  type StaticFile,
  staticFile,
} from '@viewset/core';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import fp from 'fastify-plugin';
import { type ExplorerOptions, resolveOptions } from './options.ts';
import { eachLater } from './later-scripts.ts';
import { htmlOf, type PageFacts } from './page-html.ts';
import { type PageFiles, readPageFiles } from './page-files.ts';
import { prefersHtml } from './prefers-html.ts';
import { texts } from './texts.ts';
import { readTranslation } from './translation.ts';

/** Allows scripts and styles from this server, requests to this server, and images from it or made by the page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/**
 * Serves a page for people at the API's own URLs, with tables, forms and actions, and the requests behind them. A GET
 * of a router's root, a collection or a record returns the page if its `Accept` prefers `text/html` to
 * `application/json`. All other requests are unchanged. The page needs no token and contains no data: it reads the
 * OpenAPI document, and calls the API as the logged-in user.
 *
 * Register it after `viewset` and `openapi`, and before `auth` and the routers.
 *
 * Throws ImproperlyConfigured if an option is wrong, or if it is registered after `auth`, which would require a token
 * for the page.
 *
 * @example
 * await app.register(openapi, { info: { title: 'Shop', version: '1.0.0' } });
 * await app.register(viewset, { orm });
 * await app.register(explorer);
 */
export const explorer = fp(
  async (app: FastifyInstance, given: ExplorerOptions): Promise<void> => {
    const options = resolveOptions(given, app.prefix);
    if (app.hasDecorator('auth')) {
      throw new ImproperlyConfigured(
        'explorer: register it before auth, which would ask for a token before a page is answered',
      );
    }
    const assets = await readPageFiles();
    const translation = options.texts === undefined ? undefined : await readTranslation(options.texts);
    const paths = addAssets(app, options.assetsPath, assets, translation?.script);
    const { noScript } = { ...texts, ...translation?.texts };
    const page = staticFile('text/html; charset=utf-8', htmlOf({ ...options, ...paths, noScript }));
    app.addHook('onRequest', (request, reply, done) => {
      if (!hasPage(request)) return done();
      addVary(reply, 'Accept');
      if (!prefersHtml(request)) return done();
      secure(reply);
      sendStaticFile(request, reply, page);
    });
  },
  { name: '@viewset/explorer', fastify: '5.x', dependencies: ['@viewset/core'] },
);

/** Tells from its route's plan if a request is for a router's root, a collection or a record. */
function hasPage(request: FastifyRequest): boolean {
  const plan: OperationPlan | undefined = request.routeOptions.config.viewset;
  return plan?.method === 'GET' && plan.variant === undefined && (plan.action === 'list' || plan.action === 'retrieve');
}

function secure(reply: FastifyReply): void {
  reply
    .header('content-security-policy', CONTENT_SECURITY_POLICY)
    .header('referrer-policy', 'no-referrer')
    .header('x-content-type-options', 'nosniff');
}

/** Routes without a schema do not appear in the document. */
const ASSET_ROUTE: RouteShorthandOptions = { config: { public: true } };

/** Serves the page's files under names that change with their content, so that browsers can cache them forever. */
function addAssets(
  app: FastifyInstance,
  path: string,
  { script, style, later }: PageFiles,
  translated: string | undefined,
): Pick<PageFacts, 'scriptUrl' | 'styleUrl' | 'laterUrls'> {
  const add = (file: StaticFile, ending: string): string => {
    const url = `${path}/explorer-${file.tag.slice(1, 11)}.${ending}`;
    app.get(url, ASSET_ROUTE, async (request, reply) => {
      reply.header('x-content-type-options', 'nosniff');
      return sendStaticFile(request, reply, file, 'public, max-age=31536000, immutable');
    });
    return app.prefix + url;
  };
  const addScript = (text: string): string => add(staticFile('text/javascript; charset=utf-8', text), 'js');
  return {
    scriptUrl: addScript(script),
    styleUrl: add(staticFile('text/css; charset=utf-8', style), 'css'),
    laterUrls: {
      ...eachLater((name) => addScript(later[name])),
      ...(translated !== undefined && { texts: addScript(translated) }),
    },
  };
}
