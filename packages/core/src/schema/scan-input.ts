import { pointerStep, textProblem } from '../json.ts';

/** A value of a request that cannot be used, by the JSON pointer to it. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** Places the problems of a value in the document that holds the value at a JSON pointer. */
export function placedAt(pointer: string, problems: readonly Problem[]): readonly Problem[] {
  return pointer === '' ? problems : problems.map((problem) => ({ ...problem, path: pointer + problem.path }));
}

/** Deeper than any document that a person means, far shallower than what overflows a stack. */
const MAX_DEPTH = 100;
/** An answer names this many problems and no more: enough for any form, and bounded whatever is sent. */
export const MAX_PROBLEMS = 50;

/**
 * Tells the name that sets an object's prototype where it is assigned; it is dropped wherever it stands, and no schema
 * may declare it. Every other name (`constructor` and `prototype` too) is a property like any, once it is assigned to a
 * new object instead of merged into one that is there.
 */
export function isUnsafeName(name: string): boolean {
  return name === '__proto__';
}

export interface Scanned {
  readonly problems: readonly Problem[];
  /** The number of values that the document holds, itself included. */
  readonly size: number;
  readonly isTooDeep: boolean;
}

/**
 * Finds what no schema says of a JSON document and no database keeps: NUL characters, text that is not well-formed
 * Unicode (a lone surrogate), in values and in names alike, numbers that were too large to read or would be rounded, and nesting deeper
 * than 100 levels.
 */
export function scanInput(input: unknown): Scanned {
  const scan = new Scan();
  scan.visit(input);
  return scan;
}

/** Copies JSON with all that it holds, but for names that are unsafe. What is no JSON, a file of a form, stays itself. */
export function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf) as Value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) if (!isUnsafeName(name)) copy[name] = copyOf(value[name as never]);
  return copy as Value;
}

/** The walk through one document. */
class Scan implements Scanned {
  readonly problems: Problem[] = [];
  size = 0;
  isTooDeep = false;
  visit(value: unknown, depth = 0): void {
    this.size += 1;
    if (typeof value === 'string') this.#judge(value, '');
    else if (value === Infinity || value === -Infinity) this.#report('is a number that is too large');
    else if (typeof value === 'bigint') this.#report('is a whole number that would be rounded; send it as a text');
    if (typeof value !== 'object' || value === null) return;
    if (depth >= MAX_DEPTH) {
      this.isTooDeep = true;
      this.#report(`must not be nested more than ${MAX_DEPTH} levels deep`);
    } else if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) this.#visitAt(index, value[index], depth + 1);
    } else {
      for (const key of Object.keys(value)) {
        this.#judge(key, 'the name of a property ');
        this.#visitAt(key, value[key as never], depth + 1);
      }
    }
  }

  /** The problems of a part are told with the way to it. */
  #visitAt(step: string | number, part: unknown, depth: number): void {
    const before = this.problems.length;
    this.visit(part, depth);
    for (let index = before; index < this.problems.length; index++) {
      const { path, message } = this.problems[index]!;
      this.problems[index] = { path: pointerStep(step) + path, message };
    }
  }

  #judge(text: string, subject: string): void {
    const problem = textProblem(text);
    if (problem !== undefined) this.#report(subject + problem);
  }

  #report(message: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ path: '', message });
  }
}
