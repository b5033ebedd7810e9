import type { JsonSchema } from './json-schema.ts';

/**
 * Fills in, in place, each property that is absent and whose schema declares a default, at every depth that is there.
 * Inside a union nothing is filled in: which member is meant is not known yet.
 */
export type FillDefaults = (value: unknown) => void;

/** Undefined where the schema declares no default. */
export function compileDefaults(schema: JsonSchema): FillDefaults | undefined {
  const steps: FillDefaults[] = [];
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    const inner = compileDefaults(child);
    if (child['default'] === undefined && inner === undefined) continue;
    steps.push((value) => fill(value as Record<string, unknown>, name, child['default'], inner));
  }
  for (const part of schema.allOf ?? []) {
    const inner = compileDefaults(part);
    if (inner !== undefined) steps.push(inner);
  }
  const items = isOne(schema.items) ? compileDefaults(schema.items) : undefined;
  if (steps.length === 0 && items === undefined) return undefined;
  return (value) => {
    if (Array.isArray(value) && items !== undefined) for (const item of value) items(item);
    else if (typeof value === 'object' && value !== null) for (const step of steps) step(value);
  };
}

function fill(value: Record<string, unknown>, name: string, byDefault: unknown, inner: FillDefaults | undefined): void {
  if (!Object.hasOwn(value, name)) {
    if (byDefault === undefined) return;
    value[name] = structuredClone(byDefault);
  }
  inner?.(value[name]);
}

function isOne(items: JsonSchema['items']): items is JsonSchema {
  return items !== undefined && !Array.isArray(items);
}
