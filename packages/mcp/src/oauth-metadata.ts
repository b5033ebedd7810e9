import { ImproperlyConfigured } from '@viewset/core';
import type { FastifyInstance, FastifySchema } from 'fastify';
import type { McpOAuth } from './options.ts';

/** The path of the metadata of a server, before its own path (RFC 9728, section 3.1). */
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/**
 * Serves the metadata of RFC 9728, from which a client learns where its user logs in. It needs no token.
 *
 * @throws ImproperlyConfigured in a scope with a prefix, because the path of the metadata is below the root
 */
export function addMetadata(app: FastifyInstance, name: string, { url, authorizationServers }: McpOAuth): void {
  if (app.prefix !== '') {
    throw new ImproperlyConfigured(
      `mcp: option "oauth" needs the root of the application, but the plugin has the prefix "${app.prefix}". Register it without a prefix, and set "path"`,
    );
  }
  const metadata = {
    resource: url,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ['header'],
    resource_name: name,
  };
  const route = { schema: { hide: true } as FastifySchema, config: { public: true } };
  app.get(new URL(metadataUrl(url)).pathname, route, async () => metadata);
}

/** Adds the URL of the metadata to a challenge (RFC 9728, section 5.1). */
export function withMetadata(challenge: string | null, { url }: McpOAuth): string {
  const parameter = `resource_metadata="${metadataUrl(url)}"`;
  return challenge === null ? `Bearer ${parameter}` : `${challenge}, ${parameter}`;
}

function metadataUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}`;
}
