import { Validator } from '@seriousme/openapi-schema-validator';
import type { Test } from 'tap';
import type { Document } from './app.ts';

/** Fails unless a document is OpenAPI 3.1 by the official schema, each operationId is unique, and each reference leads somewhere. */
export async function isValidDocument(t: Test, document: Document): Promise<void> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
  t.ok(valid, JSON.stringify(errors)?.slice(0, 2000));
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  t.notOk(ids.includes(undefined as never), 'every operation has an operationId');
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
  t.strictSame(repeated, [], 'each operationId is unique');
  t.strictSame(danglingReferences(document), []);
}

function danglingReferences(document: Document): string[] {
  const visit = (value: unknown): string[] => {
    if (typeof value !== 'object' || value === null) return [];
    const { $ref } = value as { $ref?: unknown };
    const own = typeof $ref === 'string' && !leadsSomewhere(document, $ref) ? [$ref] : [];
    return [...own, ...Object.values(value).flatMap(visit)];
  };
  return visit(document);
}

function leadsSomewhere(document: unknown, reference: string): boolean {
  if (!reference.startsWith('#/')) return false;
  const steps = reference.slice(2).split('/');
  const found = steps.reduce<unknown>(
    (node, step) => (node as Record<string, unknown> | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  );
  return found !== undefined;
}
