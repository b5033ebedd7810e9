import { pointerStep, textProblem } from '../support/json.ts';
import { copyRounded, roundedIn } from '../support/rounded-numbers.ts';

/** An invalid value of a request, with the JSON pointer to it. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** Prefixes the paths of problems with the JSON pointer to their value. */
export function placedAt(pointer: string, problems: readonly Problem[]): readonly Problem[] {
  return pointer === '' ? problems : problems.map((problem) => ({ ...problem, path: pointer + problem.path }));
}

/** Prefixes the paths of problems with a step, from the index `first` on. */
export function placeUnder(step: string | number, problems: { readonly path: string }[], first: number): void {
  for (let index = first; index < problems.length; index++) {
    const problem = problems[index]!;
    problems[index] = { ...problem, path: pointerStep(step) + problem.path };
  }
}

/** Deeper than any sensible document, and far below a stack overflow. */
const MAX_DEPTH = 100;
/** The most problems in a response. It is enough for any form, and bounds every response. */
export const MAX_PROBLEMS = 50;

/**
 * Reports whether a name sets an object's prototype on assignment. That name is dropped everywhere, and no schema may
 * declare it. Every other name is an ordinary property (`constructor` and `prototype` too), because it is assigned to a
 * new object, not merged into an existing one.
 */
export function isUnsafeName(name: string): boolean {
  return name === '__proto__';
}

export interface Scanned {
  readonly problems: readonly Problem[];
  /** The number of values in the document, including the document itself. */
  readonly size: number;
  readonly isTooDeep: boolean;
  /** The numbers that JavaScript has rounded, each with the text that was sent. */
  readonly rounded: readonly RoundedNumber[];
}

/** A number of a request that JavaScript has rounded. */
export interface RoundedNumber {
  readonly path: string;
  readonly text: string;
}

/**
 * Finds problems in a JSON document that no schema covers and no database can store. It reports NUL characters and text
 * that is not well-formed Unicode (a lone surrogate), in values and in names. It also reports numbers that were too
 * large to read or would be rounded, and nesting deeper than 100 levels.
 */
export function scanInput(input: unknown): Scanned {
  const scan = new Scan();
  scan.visit(input);
  return scan;
}

/** Copies JSON deeply, without unsafe names. Values that are not JSON, such as a file of a form, are not copied. */
export function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(copyOf);
    copyRounded(value, items);
    return items as Value;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) if (!isUnsafeName(name)) copy[name] = copyOf(value[name as never]);
  copyRounded(value, copy);
  return copy as Value;
}

/** The scan of one document. */
class Scan implements Scanned {
  readonly problems: Problem[] = [];
  rounded: RoundedNumber[] = [];
  size = 0;
  isTooDeep = false;

  visit(value: unknown, depth = 0): void {
    this.size += 1;
    if (typeof value === 'string') this.#check(value, '');
    else if (value === Infinity || value === -Infinity) this.#report('is a number that is too large');
    else if (typeof value === 'bigint') this.#report('is a whole number that would be rounded; send it as a text');
    if (typeof value !== 'object' || value === null) return;
    if (depth >= MAX_DEPTH) {
      this.isTooDeep = true;
      this.#report(`must not be nested more than ${MAX_DEPTH} levels deep`);
    } else if (Array.isArray(value)) {
      this.#noteRounded(value);
      for (let index = 0; index < value.length; index++) this.#visitAt(index, value[index], depth + 1);
    } else {
      this.#noteRounded(value);
      for (const key of Object.keys(value)) {
        this.#check(key, 'the name of a property ');
        this.#visitAt(key, value[key as never], depth + 1);
      }
    }
  }

  #visitAt(step: string | number, part: unknown, depth: number): void {
    const [problems, rounded] = [this.problems.length, this.rounded.length];
    this.visit(part, depth);
    placeUnder(step, this.problems, problems);
    placeUnder(step, this.rounded, rounded);
  }

  #noteRounded(container: object): void {
    for (const [name, text] of roundedIn(container) ?? []) this.rounded.push({ path: pointerStep(name), text });
  }

  #check(text: string, subject: string): void {
    const problem = textProblem(text);
    if (problem !== undefined) this.#report(subject + problem);
  }

  #report(message: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ path: '', message });
  }
}
