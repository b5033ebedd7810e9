import { jsonPointer } from '../json-pointer.ts';

/** A value of a request that cannot be used, by the JSON pointer to it. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

export interface CopiedInput {
  /** A copy that shares nothing with what came, without dangerous names. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** How many values it holds, itself included. */
  readonly size: number;
}

/** Deeper than any document a person means, far shallower than what overflows a stack. */
export const MAX_DEPTH = 100;
/** An answer names this many problems and no more: enough for any form, and bounded whatever is sent. */
export const MAX_PROBLEMS = 50;

/** Names that would reach an object's prototype; dropped wherever they stand, and no schema may declare them. */
export const DANGEROUS_NAMES: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Copies a JSON document and finds what no schema says and no database keeps: NUL characters, text that is not
 * well-formed Unicode (a lone surrogate), in values and in names alike, and nesting deeper than MAX_DEPTH.
 */
export function copyInput(input: unknown): CopiedInput {
  const problems: Problem[] = [];
  const keys: (string | number)[] = [];
  let size = 0;

  const report = (message: string): void => {
    if (problems.length < MAX_PROBLEMS) problems.push({ path: jsonPointer(keys), message });
  };
  const copy = (value: unknown): unknown => {
    size += 1;
    if (typeof value === 'string') {
      const problem = textProblem(value);
      if (problem !== undefined) report(problem);
      return value;
    }
    if (typeof value !== 'object' || value === null) return value;
    if (keys.length >= MAX_DEPTH) {
      report(`must not be nested more than ${MAX_DEPTH} levels deep`);
      return null;
    }
    return Array.isArray(value) ? copyArray(value) : copyObject(value);
  };
  const copyArray = (values: readonly unknown[]): unknown[] =>
    values.map((value, index) => {
      keys.push(index);
      const copied = copy(value);
      keys.pop();
      return copied;
    });
  const copyObject = (values: object): object => {
    const copied: Record<string, unknown> = {};
    for (const key of Object.keys(values)) {
      const problem = textProblem(key);
      if (problem !== undefined) report(`the name of a property ${problem}`);
      keys.push(key);
      const value = copy((values as Record<string, unknown>)[key]);
      keys.pop();
      if (!DANGEROUS_NAMES.has(key)) copied[key] = value;
    }
    return copied;
  };

  const value = copy(input);
  return { value, problems, size };
}

function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain a NUL character';
  if (!text.isWellFormed()) return 'must be well-formed Unicode';
  return undefined;
}
