import { placedAt, type Problem } from '../../schema/scan-input.ts';
import type { BoundWriteShape } from '../../shapes/write/bound-write-shape.ts';

/** A write shape of a view, which reads bodies. */
export interface InputShape {
  readonly name: string;
  readonly shape: BoundWriteShape;
}

/** The parsed body of one record. */
export interface ReadBody {
  /** The valid values: `request.body`, or one of its objects. */
  readonly data: object;
  /** Its JSON pointer in the body of the request. */
  readonly path: string;
  /** The input for hooks that is not a property of the entity. */
  readonly extra: object;
  /**
   * The errors of the schemas, by their places in this body. They are reported together with the errors of rules and
   * references.
   */
  readonly faults: readonly Problem[];
  /** All sent values that could be read; undefined if there are no errors. */
  readonly sent: object | undefined;
}

/** The parsed input of one request. */
export interface ReadInput {
  /** The value of `request.body` in hooks. */
  readonly value: object;
  /** One body, or the bodies of an array. */
  readonly bodies: readonly ReadBody[];
  /** The errors of an array that belong to none of its bodies. */
  readonly faults: readonly Problem[];
  /** The JSON pointer to the value in the sent body: to the member that has the records. */
  readonly path?: string;
}

const NOTHING: object = Object.freeze({});
const NO_FAULTS: readonly Problem[] = Object.freeze([]);

/** Makes a body of valid values. */
export function validBody(data: object, path = '', extra = NOTHING): ReadBody {
  return { data, path, extra, faults: NO_FAULTS, sent: undefined };
}

/** Makes the input of one body. */
export function oneBody(body: ReadBody): ReadInput {
  return { value: body.data, bodies: [body], faults: NO_FAULTS };
}

/** Lists all errors of an input, by their places in the body of the request. */
export function faultsIn({ bodies, faults }: ReadInput): readonly Problem[] {
  return [...faults, ...bodies.flatMap((body) => placedAt(body.path, body.faults))];
}

/**
 * Makes the input of a body that an override or action replaced. Objects from the original body keep the data that was
 * read with them.
 */
export function inputAnew(value: object, known: readonly ReadBody[] = []): ReadInput {
  if (!Array.isArray(value)) return oneBody(validBody(value));
  const bodies = (value as object[]).map((data, index) => {
    const read = known.find((body) => body.data === data);
    return read === undefined ? validBody(data, `/${index}`) : { ...read, path: `/${index}` };
  });
  return { value, bodies, faults: NO_FAULTS };
}
