import type { Problem } from './scan-input.ts';

/** The problems that the message of an error names. `problems` has more of them. */
const NAMED_PROBLEMS = 3;

/** The record of a value, for the log. */
export interface RecordName {
  readonly entity: string;
  /** The value of its key. Undefined if the response does not show it. */
  readonly key?: string | undefined;
}

/**
 * A value of the application that does not fit its schema, or cannot be read from its column. Responses give 500. The
 * message is for the log: it names the record and the property, or else the response and the place in it.
 *
 * @example
 * new UnfitValue([{ path: '/price', message: 'must be a number' }], { entity: 'Book', key: '7' }).message;
 * // Book.price does not fit its schema: it must be a number (Book 7)
 */
export class UnfitValue extends TypeError {
  override readonly name = 'UnfitValue';
  /** The problems, with paths in the record or the response. */
  readonly problems: readonly Problem[];

  /** @param owner the record, or the name of the response */
  constructor(problems: readonly Problem[], owner: RecordName | string = 'The response', cause?: unknown) {
    super(messageOf(problems, owner), { cause });
    this.problems = problems;
  }
}

function messageOf(problems: readonly Problem[], owner: RecordName | string): string {
  if (typeof owner === 'string') return `${owner} does not fit its schema: ${listed(problems, '', problems.length)}`;
  const [, property = ''] = problems[0]!.path.split('/');
  const place = `/${property}`;
  const ofValue = problems.filter(({ path }) => path === place || path.startsWith(`${place}/`));
  const { entity, key } = owner;
  const record = key === undefined ? '' : ` (${entity} ${key})`;
  return `${entity}.${property} does not fit its schema: ${listed(ofValue, place, problems.length)}${record}`;
}

function listed(problems: readonly Problem[], place: string, total: number): string {
  const named = problems
    .slice(0, NAMED_PROBLEMS)
    .map(({ path, message }) => `${path.slice(place.length) || 'it'} ${message}`);
  return [...named, ...(total > named.length ? [`and ${total - named.length} more`] : [])].join('; ');
}
