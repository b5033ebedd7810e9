import { Type, type TSchema } from 'typebox';
import type { Exchange } from './link-header.ts';

/** The headers that can hold the number of all records of a list. */
export const TOTAL_HEADERS = ['X-Total-Count', 'Content-Range'] as const;

/**
 * A header with the number of all records of a list whose body is an array.
 *
 * - `X-Total-Count: 50`
 * - `Content-Range: items 20-29/50` has the places of the first and the last record of the page too, from 0. An empty page
 *   has `items *` and the count.
 */
export type TotalHeader = (typeof TOTAL_HEADERS)[number];

const DESCRIPTIONS: Readonly<Record<TotalHeader, TSchema>> = {
  'X-Total-Count': Type.Integer({ minimum: 0, description: 'The number of records on all pages' }),
  'Content-Range': Type.String({
    pattern: '^items (\\d+-\\d+|\\*)/\\d+$',
    description:
      'The places of the first and the last record of the page, from 0, and the number of records on all pages: ' +
      '`items 20-29/50`. An empty page has `items */50`',
  }),
};

/** The header, for documents. */
export function totalHeaderSchema(header: TotalHeader): Readonly<Record<string, TSchema>> {
  return { [header.toLowerCase()]: DESCRIPTIONS[header] };
}

/** The part of a list that a page shows. */
interface Shown {
  /** The number of all records. */
  readonly count: number;
  /** The place of the page's first record, from 0. */
  readonly first: number;
  /** The number of records on the page. */
  readonly length: number;
}

export function sendTotal({ reply }: Exchange, header: TotalHeader, { count, first, length }: Shown): void {
  const range = length === 0 ? '*' : `${first}-${first + length - 1}`;
  reply.header(header, header === 'Content-Range' ? `items ${range}/${count}` : count);
}
