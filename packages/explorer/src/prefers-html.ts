import type { FastifyRequest } from 'fastify';

/**
 * Tells if the sender of a request prefers `text/html` to `application/json`, as browsers do. False if both are equally
 * welcome, or nothing is said.
 *
 * @example
 * app.get('/', (request, reply) => (prefersHtml(request) ? reply.redirect('/api') : { name: 'Shop' }));
 */
export function prefersHtml({ headers: { accept } }: Pick<FastifyRequest, 'headers'>): boolean {
  // Most requests end here.
  if (accept === undefined || !/text\/(?:html|\*)|\*\/\*/i.test(accept)) return false;
  const ranges = accept.split(',').map(readRange);
  return qualityOf('text/html', ranges) > qualityOf('application/json', ranges);
}

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

/** Reads one range of an Accept header. One whose quality is none counts as not accepted: RFC 9110, 12.4.2. */
function readRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
  return { type, quality: /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(given) ? Number(given) : 0 };
}

/** Returns the quality of a media type: that of the most specific range that has it. */
function qualityOf(type: string, ranges: readonly MediaRange[]): number {
  const candidates = [type, `${type.split('/')[0]}/*`, '*/*'];
  for (const candidate of candidates) {
    const range = ranges.find((each) => each.type === candidate);
    if (range !== undefined) return range.quality;
  }
  return 0;
}
