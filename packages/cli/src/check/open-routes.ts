import { PathRateLimit, type RateLimitRule } from '@viewset/core';
import type { RouteOptions } from 'fastify';
import type { CheckedApplication } from './checked-application.ts';
import type { Finding } from './finding.ts';

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY', 'OPTIONS']);

/** Finds views that let anybody write without saying so explicitly. */
export function findOpenWrites({ routes }: CheckedApplication): Finding[] {
  const open = routes.flatMap(({ config }) => {
    const plan = config?.viewset;
    if (plan === undefined || READING.has(plan.method) || config?.needsToken === true) return [];
    return plan.permissions.length === 0 && !plan.allowsAnonymous ? [plan] : [];
  });
  return [...Map.groupBy(open, ({ view }) => view.name)].map(([name, plans]) => {
    const methods = [...new Set(plans.map(({ method, path }) => `${method} ${path}`))];
    return {
      code: 'open-write',
      message: `${name}: anybody may send ${methods.join(', ')}`,
      change: 'permissionClasses: [IsSafeMethodOnly.or(IsAuthenticated)], or [AllowAny] if that is meant',
      declaredBy: { className: name, word: 'permissionClasses' },
    };
  });
}

/** Finds open login routes (paths that end in `/login`) without a throttle per IP address. */
export function findLoginsWithoutThrottle({ routes, instances }: CheckedApplication): Finding[] {
  const rules = [...instances].flatMap(({ throttles }) => throttles);
  const logins = routes.filter(
    (route) => takesPassword(route) && route.url.endsWith('/login') && !rules.some((rule) => counts(rule, route)),
  );
  return logins.map(({ url }) => ({
    code: 'login-without-throttle',
    message: `POST ${url}: one client may try passwords of as many accounts as it likes`,
    change: `throttles: [new PathRateLimit(10, 60, { path: 'POST ${url}' })],`,
    declaredBy: { className: '', word: 'register(viewset' },
  }));
}

function takesPassword({ method, schema, config }: RouteOptions): boolean {
  const { body } = (schema ?? {}) as { readonly body?: { readonly properties?: object } };
  return [method].flat().includes('POST') && config?.needsToken !== true && 'password' in (body?.properties ?? {});
}

function counts(rule: RateLimitRule, { url }: RouteOptions): boolean {
  if (rule.phase !== 'address') return false;
  return rule instanceof PathRateLimit ? rule.covers('POST', url) : true;
}
