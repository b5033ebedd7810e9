import { MAX_PROBLEMS, placeUnder, type Problem } from './scan-input.ts';

/** A problem, with what a union asks of it to find the member that was meant. */
export interface Fault extends Problem {
  /** The JSON types of which the value has none. */
  readonly types?: readonly string[];
  /** The values of which the value is none. */
  readonly literals?: readonly unknown[];
}

/** A condition on a value as a whole. */
export interface Assertion {
  readonly holds: (value: unknown) => boolean;
  /** The fault of a value that it does not hold for, or the function that makes it. */
  readonly fault: Fault | ((value: unknown) => Fault);
}

/**
 * Adds the faults of a value to a reading and returns what one keyword knows of the value: a new object or array of the
 * parts that the keyword names, or the value itself if it names no parts.
 */
export type Judge = (value: unknown, reading: Reading) => unknown;

/** A compiled schema. */
export class SchemaNode {
  /** The keywords of the schema. A stage is asked about a value that all stages before it have let through. */
  stages: readonly (readonly (Assertion | Judge)[])[] = [];
  /** Makes of a text what the schema asks for; undefined in a body. */
  readText: ((value: unknown) => unknown) | undefined;

  /** Adds the faults of a value to a reading and returns what the schema knows of the value. */
  read(given: unknown, reading: Reading): unknown {
    if (reading.isFull) return given;
    const value = this.readText === undefined ? given : this.readText(given);
    const before = reading.faults.length;
    let known = value;
    for (const stage of this.stages) {
      for (const check of stage) {
        if (typeof check === 'function') known = unite(value, known, check(value, reading));
        else if (!check.holds(value)) reading.faults.push(faultOf(check, value));
      }
      if (reading.faults.length > before) return value;
    }
    if (known === value && typeof value === 'object' && value !== null) reading.keepsInput = true;
    return known;
  }
}

function faultOf({ fault }: Assertion, value: unknown): Fault {
  return typeof fault === 'function' ? fault(value) : fault;
}

/** The judgement of a schema on a value by itself. */
export interface Verdict {
  readonly known: unknown;
  readonly faults: readonly Fault[];
}

/** One document, while a schema reads it. */
export class Reading {
  faults: Fault[] = [];
  /** True once a part of the document is kept as it is. */
  keepsInput = false;
  #limit: number;
  #referred: Map<object, Map<SchemaNode, Verdict>> | undefined;

  /** @param limit the number of faults after which the rest of the document is no longer looked at */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.faults.length >= this.#limit;
  }

  /** Reads a property or an item of a value; its faults are told with the way to it. */
  part(node: SchemaNode, step: string | number, part: unknown): unknown {
    const before = this.faults.length;
    const known = node.read(part, this);
    placeUnder(step, this.faults, before);
    return known;
  }

  /** Reads a value on trial: its faults are not those of the document. */
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
   * Reads a value by what a `$ref` refers to: an object once, however many references lead to it. Without that the work
   * for a schema that contains itself could double with each level of a document.
   */
  referred(node: SchemaNode, value: unknown): Verdict {
    if (typeof value !== 'object' || value === null) return this.attempt(node, value);
    this.#referred ??= new Map();
    let verdicts = this.#referred.get(value);
    if (verdicts === undefined) this.#referred.set(value, (verdicts = new Map<SchemaNode, Verdict>()));
    let verdict = verdicts.get(node);
    if (verdict === undefined) verdicts.set(node, (verdict = this.attempt(node, value)));
    return verdict;
  }
}

/** Unites what two judges know of one value: the parts that either knows. */
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
