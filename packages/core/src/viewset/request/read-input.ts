import { placedAt, type Problem } from '../../schema/scan-input.ts';
import type { BoundWriteShape } from '../../shapes/write/bound-write-shape.ts';

/** The operations that take a record in. */
export const TAKING = ['create', 'update'] as const;
/** The name of an operation that takes a record in. */
export type TakingOperation = (typeof TAKING)[number];

/** A write shape of a view, by which it reads bodies. */
export interface InputShape {
  readonly name: string;
  readonly shape: BoundWriteShape<object>;
}

/** The body of one record, as it was read. */
export interface ReadBody {
  /** The values that have no fault: `request.body`, or one of its objects. */
  readonly data: object;
  /** The JSON pointer to it in the body of the request. */
  readonly path: string;
  /** The input for hooks that is no property of the entity. */
  readonly extra: object;
  /** The faults that the schemas have found, by their places in this body. They are answered with those of rules and references. */
  readonly faults: readonly Problem[];
  /** All that was sent, as far as it could be read; undefined if nothing is at fault. */
  readonly sent: object | undefined;
}

/** The input of one request, as it was read. */
export interface ReadInput {
  /** What hooks see as `request.body`. */
  readonly value: object;
  /** One body, or those of an array. */
  readonly bodies: readonly ReadBody[];
  /** The faults of an array that are not those of one of its bodies. */
  readonly faults: readonly Problem[];
  /** The JSON pointer to the value in the body as it was sent: to the member that the view's envelope names. */
  readonly path?: string;
}

const NOTHING: object = Object.freeze({});
const NO_FAULTS: readonly Problem[] = Object.freeze([]);

/** Makes a body of values that have no fault. */
export function soundBody(data: object, path = '', extra = NOTHING): ReadBody {
  return { data, path, extra, faults: NO_FAULTS, sent: undefined };
}

/** Makes the input of one body. */
export function oneBody(body: ReadBody): ReadInput {
  return { value: body.data, bodies: [body], faults: NO_FAULTS };
}

/** Lists all faults of an input, by their places in the body of the request. */
export function faultsIn({ bodies, faults }: ReadInput): readonly Problem[] {
  return [...faults, ...bodies.flatMap((body) => placedAt(body.path, body.faults))];
}

/**
 * Makes the input of a body that an override or an action has put in the place of the one that was read. Objects that were read keep what
 * was read along with them.
 */
export function inputAnew(value: object, known: readonly ReadBody[] = []): ReadInput {
  if (!Array.isArray(value)) return oneBody(soundBody(value));
  const bodies = (value as object[]).map((data, index) => {
    const read = known.find((body) => body.data === data);
    return read === undefined ? soundBody(data, `/${index}`) : { ...read, path: `/${index}` };
  });
  return { value, bodies, faults: NO_FAULTS };
}
