/**
 * Chooses the offered media type that an `Accept` header prefers (RFC 9110, section 12.5.1). Of several with equal
 * preference, returns the first. If none is accepted, returns the first of all.
 *
 * @example
 * acceptedType('text/csv;q=0.9, application/*', ['application/json', 'text/csv']);   // 'application/json'
 */
export function acceptedType<Type extends string>(
  accept: string | undefined,
  offered: readonly [Type, ...Type[]],
): Type {
  let [best] = offered;
  // Most requests end here.
  if (accept === undefined || accept === '*/*' || accept === best) return best;
  const ranges = accept.split(',').map(readRange);
  let greatest = qualityOf(best, ranges);
  for (const type of offered.slice(1)) {
    const quality = qualityOf(type, ranges);
    if (quality <= greatest) continue;
    best = type;
    greatest = quality;
  }
  return best;
}

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

/** Reads one range of an Accept header. A malformed quality counts as not accepted: RFC 9110, 12.4.2. */
function readRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  return { type, quality: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(given) ? Number(given) : 0 };
}

/** Returns the quality of a media type: the quality of the most specific range that matches. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const candidates = [type, `${type.split('/')[0]}/*`, '*/*'];
  for (const candidate of candidates) {
    const range = ranges.find((each) => each.type === candidate);
    if (range !== undefined) return range.quality;
  }
  return 0;
}
