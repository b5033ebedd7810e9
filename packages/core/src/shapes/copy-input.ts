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
  const copying = new Copying();
  const value = copying.copy(input);
  return { value, problems: copying.problems, size: copying.size };
}

/** The walk through one document. */
class Copying {
  readonly problems: Problem[] = [];
  size = 0;
  /** Where the walk is. */
  readonly #keys: (string | number)[] = [];

  copy(value: unknown): unknown {
    this.size += 1;
    if (typeof value === 'string') {
      const problem = textProblem(value);
      if (problem !== undefined) this.#report(problem);
      return value;
    }
    if (typeof value !== 'object' || value === null) return value;
    if (this.#keys.length >= MAX_DEPTH) {
      this.#report(`must not be nested more than ${MAX_DEPTH} levels deep`);
      return null;
    }
    return Array.isArray(value) ? this.#copyArray(value) : this.#copyObject(value as Readonly<Record<string, unknown>>);
  }

  #copyArray(values: readonly unknown[]): unknown[] {
    return values.map((value, index) => this.#copyAt(index, value));
  }

  #copyObject(values: Readonly<Record<string, unknown>>): object {
    const copied: Record<string, unknown> = {};
    for (const key of Object.keys(values)) {
      const problem = textProblem(key);
      if (problem !== undefined) this.#report(`the name of a property ${problem}`);
      const value = this.#copyAt(key, values[key]);
      if (!DANGEROUS_NAMES.has(key)) copied[key] = value;
    }
    return copied;
  }

  #copyAt(key: string | number, value: unknown): unknown {
    this.#keys.push(key);
    const copied = this.copy(value);
    this.#keys.pop();
    return copied;
  }

  #report(message: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ path: jsonPointer(this.#keys), message });
  }
}

function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain a NUL character';
  if (!text.isWellFormed()) return 'must be well-formed Unicode';
  return undefined;
}
