import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGES } from './packages.ts';

/** A page of the site that stands in the repository as Markdown. */
export interface Page {
  /** The file, as seen from the repository's root. */
  readonly source: string;
  /** The address without a slash in front: `guide`, `packages/core`. */
  readonly address: string;
  /** The heading that the page stands under in the sidebar. */
  readonly group: string;
}

/** The pages of `docs`, by the headings of the sidebar, in their order. */
const DOCS: Readonly<Record<string, readonly string[]>> = {
  Start: ['index', 'tutorial', 'create', 'cli', 'guide', 'existing-application', 'typescript', 'editor', 'testing'],
  Records: [
    'views',
    'actions',
    'routers',
    'nested-routes',
    'read-shapes',
    'relations-to-many',
    'write-shapes',
    'writing-relations',
    'inheritance',
    'bulk',
    'batch',
    'envelopes',
    'transactions',
    'outbox',
    'webhooks',
    'files',
    'direct-uploads',
    'soft-delete',
    'conditional-requests',
    'idempotency',
    'history',
    'query-sets',
  ],
  Lists: ['filters', 'full-text-search', 'json-logic', 'ordering', 'pagination', 'exports', 'aggregates', 'live-lists'],
  Access: [
    'authentication',
    'accounts',
    'login-links',
    'invitations',
    'organizations',
    'two-factors',
    'passkeys',
    'openid-connect',
    'login-microsoft',
    'login-linkedin',
    'login-apple',
    'login-oauth2',
    'api-keys',
    'permissions',
    'throttles',
  ],
  Server: [
    'plugin',
    'other-plugins',
    'errors',
    'status-codes',
    'health',
    'stores',
    'databases',
    'replicas',
    'openapi',
    'explorer',
    'client',
    'react-admin',
    'mcp',
  ],
  'How to': [
    'how-to-send-email',
    'how-to-work-after-commit',
    'how-to-full-text-search',
    'how-to-own-route',
    'how-to-file-from-code',
    'how-to-upload-to-s3',
    'how-to-background-import',
    'how-to-scheduled-jobs',
    'how-to-queues',
    'how-to-webhooks',
    'how-to-history',
    'how-to-own-records',
    'how-to-field-by-role',
    'how-to-count-related',
    'how-to-like-button',
    'how-to-join-entity',
    'how-to-tree',
    'how-to-sort-by-hand',
    'how-to-enums',
    'how-to-roles',
    'how-to-status-machine',
    'how-to-bookings',
    'how-to-money',
    'how-to-time-zones',
    'how-to-uuid-keys',
    'how-to-composite-key',
    'how-to-custom-filter',
    'how-to-custom-paginator',
    'how-to-options',
    'how-to-import-csv',
    'how-to-excel',
    'how-to-tenants',
    'how-to-row-level-security',
    'how-to-seeds',
    'how-to-migrations',
    'how-to-change-database',
    'how-to-pgbouncer',
    'how-to-deploy',
    'how-to-kubernetes',
    'how-to-cors',
    'how-to-front-end',
    'how-to-caching',
    'how-to-logging',
    'how-to-metrics',
    'how-to-api-versions',
    'how-to-translate-messages',
    'how-to-react',
    'how-to-graphql',
  ],
  'Coming from': ['django', 'nestjs', 'express', 'rails', 'laravel'],
  Operation: [
    'check',
    'telemetry',
    'deployment',
    'upgrading',
    'limits',
    'security',
    'security-events',
    'performance',
    'architecture',
  ],
};

/** Pages that stand elsewhere than in `docs`. */
const OTHERS: readonly Page[] = [
  { source: 'README.md', address: 'readme', group: 'Project' },
  ...PACKAGES.map((name) => ({ source: `packages/${name}/README.md`, address: `packages/${name}`, group: 'Packages' })),
  { source: 'CONTRIBUTING.md', address: 'contributing', group: 'Project' },
  { source: 'SUPPORT.md', address: 'support', group: 'Project' },
  { source: 'SECURITY.md', address: 'reporting', group: 'Project' },
  { source: 'CODE_OF_CONDUCT.md', address: 'conduct', group: 'Project' },
  { source: 'CHANGELOG.md', address: 'changes', group: 'Project' },
  ...PACKAGES.map((name) => ({
    source: `packages/${name}/CHANGELOG.md`,
    address: `packages/${name}-changes`,
    group: 'Changes',
  })),
];

/**
 * Returns every page in the order of the sidebar, the home page first. Throws if a file of `docs` stands under no heading: nobody
 * would find it.
 */
export function listPages(root: string): readonly Page[] {
  const listed = Object.entries(DOCS).flatMap(([group, names]) =>
    names.map((name) => ({ source: `docs/${name}.md`, address: name, group })),
  );
  const sources = new Set(listed.map(({ source }) => source));
  const lost = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && !sources.has(`docs/${name}`));
  if (lost.length > 0) throw new Error(`docs/site/pages.ts names no heading for ${lost.join(', ')}`);
  return [...listed, ...OTHERS];
}
