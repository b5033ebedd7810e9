import { isRecord } from '../../support/json.ts';
import { PLAIN_FORMAT } from '../../view/output/record-format.ts';
import type { Feature } from '../../view/setup/feature.ts';
import type { Option } from '../../view/setup/model-viewset-options.ts';
import { Envelope, type EnvelopeOption } from './envelope.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * The members that wrap records. With `{ one: 'article', many: 'articles', count: 'articlesCount' }`, one record is
     * `{ "article": { … } }` in bodies and responses, and a list is `{ "articles": [ … ], "articlesCount": 3 }`. null:
     * records are not wrapped, and lists have the format of the paginator. Default: the envelope of the router, else
     * null.
     */
    readonly envelope?: EnvelopeOption | null;
  }
}

declare module '../../view/model-viewset.ts' {
  interface DeclaredFeatures<Entity, Options> {
    /** The envelope of the records. */
    readonly envelope: Option<Options, 'envelope'>;
  }
}

/** The option `envelope`: members that wrap the records in bodies and responses. */
export const ENVELOPE = {
  option: 'envelope',
  rule: ['an object of "one", "many" and "count", or null', (value) => value === null || isRecord(value)],
  format: (owner, option) => (option === null ? PLAIN_FORMAT : new Envelope(owner, option)),
  resolve: () => ({}),
} as const satisfies Feature<EnvelopeOption | null>;
