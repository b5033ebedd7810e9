/** A part of a file, both ends included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Reads a `Range` header (RFC 9110, section 14). Returns undefined if the whole file is to be sent: without a header,
 * for several ranges, and for a malformed header. Returns `unsatisfiable` if the file has no such bytes.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  // The last `length` bytes.
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'unsatisfiable' : { start, end };
}
