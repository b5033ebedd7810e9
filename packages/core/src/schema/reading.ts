import { isOmitted, isRecord, pointerStep } from '../support/json.ts';
import { MAX_PROBLEMS, placeUnder, type Problem } from './scan-input.ts';

/** A problem, with the data by which a union finds the member that was meant. */
export interface Fault extends Problem {
  /** The expected JSON types. The value has none of them. */
  readonly types?: readonly string[];
  /** The expected values. The value is none of them. */
  readonly literals?: readonly unknown[];
}

/** A condition on a value as a whole. */
export interface Assertion {
  readonly holds: (value: unknown) => boolean;
  /** The fault of a value that fails, or a function that makes it. */
  readonly fault: Fault | ((value: unknown) => Fault);
}

/**
 * Adds the faults of a value to a reading. Returns the part of the value that one keyword names, as a new object or
 * array. Returns the value itself if the keyword names no parts.
 */
export type Check = (value: unknown, reading: Reading) => unknown;

/** A compiled schema. */
export class SchemaNode {
  /** The keywords of the schema, by stage. A stage runs only if all earlier stages pass. */
  stages: readonly (readonly (Assertion | Check)[])[] = [];
  /** Converts a value to the type of the schema: a text of a query string, a Date of a response. Undefined in a body. */
  convert: ((value: unknown) => unknown) | undefined;
  /** True if properties that no keyword names are rejected. Default: they are dropped. */
  isComplete = false;

  /** Adds the faults of a value to a reading. Returns the part of the value that the schema names. */
  read(given: unknown, reading: Reading): unknown {
    if (reading.isFull) return given;
    const value = this.convert === undefined ? given : this.convert(given);
    const before = reading.faults.length;
    let known = value;
    for (const stage of this.stages) {
      for (const check of stage) {
        if (typeof check === 'function') known = unite(value, known, check(value, reading));
        else if (!check.holds(value)) reading.faults.push(faultOf(check, value));
      }
      if (reading.faults.length > before) return value;
    }
    if (this.isComplete) rejectOthers(value, known, reading);
    if (known === value && typeof value === 'object' && value !== null) reading.keepsInput = true;
    return known;
  }
}

/** Adds a fault for each property of an object that no keyword names. */
function rejectOthers(value: unknown, known: unknown, reading: Reading): void {
  if (!isRecord(value)) return;
  const isNamed = (name: string): boolean => known !== value && Object.hasOwn(known as object, name);
  for (const [name, part] of Object.entries(value)) {
    if (isNamed(name) || isOmitted(part)) continue;
    reading.faults.push({ path: pointerStep(name), message: 'is not allowed' });
  }
}

function faultOf({ fault }: Assertion, value: unknown): Fault {
  return typeof fault === 'function' ? fault(value) : fault;
}

/** The result of validating a value separately. */
export interface Verdict {
  readonly known: unknown;
  readonly faults: readonly Fault[];
}

const ENDLESS: Fault = { path: '', message: 'has a schema that only refers to itself' };

/** The validation of one document. */
export class Reading {
  faults: Fault[] = [];
  /** True if the result contains an object or array of the document itself, not a copy. */
  keepsInput = false;
  #limit: number;
  #referred: Map<unknown, Map<SchemaNode, Verdict>> | undefined;

  /** @param limit the number of faults after which validation stops */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.faults.length >= this.#limit;
  }

  /** Validates a property or an item. Adds its step to the paths of its faults. */
  part(node: SchemaNode, step: string | number, part: unknown): unknown {
    const before = this.faults.length;
    const known = node.read(part, this);
    placeUnder(step, this.faults, before);
    return known;
  }

  /** Validates a value without adding its faults to the document. */
  attempt(node: SchemaNode, value: unknown): Verdict {
    const [outer, limit] = [this.faults, this.#limit];
    const faults: Fault[] = [];
    this.faults = faults;
    this.#limit = MAX_PROBLEMS;
    const known = node.read(value, this);
    this.faults = outer;
    this.#limit = limit;
    return { known, faults };
  }

  /**
   * Validates a value by the target of a `$ref`. It validates each value only once, even if many references apply to
   * it. Otherwise the work for a recursive schema could double with each level of a document.
   */
  referred(node: SchemaNode, value: unknown): Verdict {
    this.#referred ??= new Map<unknown, Map<SchemaNode, Verdict>>();
    let verdicts = this.#referred.get(value);
    if (verdicts === undefined) this.#referred.set(value, (verdicts = new Map<SchemaNode, Verdict>()));
    let verdict: Verdict | undefined = verdicts.get(node);
    if (verdict !== undefined) return verdict;
    // A reference that leads back to itself for the same value would never end.
    verdicts.set(node, { known: value, faults: [ENDLESS] });
    verdicts.set(node, (verdict = this.attempt(node, value)));
    return verdict;
  }
}

/** Merges the results of two keywords for one value: the parts that either of them names. */
export function unite(value: unknown, one: unknown, other: unknown): unknown {
  if (other === value || one === other) return one;
  if (one === value) return other;
  if (typeof value !== 'object' || value === null) return one;
  const [some, more] = [one, other] as [Record<string, unknown>, Record<string, unknown>];
  if (Array.isArray(value)) return value.map((item, index) => unite(item, some[index], more[index]));
  const known: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(value), ...Object.keys(some), ...Object.keys(more)])) {
    const isShared = Object.hasOwn(some, name) && Object.hasOwn(more, name) && Object.hasOwn(value, name);
    if (isShared) known[name] = unite(value[name as never], some[name], more[name]);
    else if (Object.hasOwn(some, name)) known[name] = some[name];
    else if (Object.hasOwn(more, name)) known[name] = more[name];
  }
  return known;
}
