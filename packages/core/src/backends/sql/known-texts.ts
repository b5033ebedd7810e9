import { isDeepStrictEqual } from 'node:util';
import { LruMap } from '../../lru-map.ts';
import type { Bound, Statement } from './dialects/reader.ts';

/** The shape of a statement, and the values that it binds. */
export interface Shaped {
  /** Equal for statements of one text; undefined for a statement whose text is not kept. */
  readonly key: string | undefined;
  /** The values in the order of the text. */
  readonly values: readonly unknown[];
  /** True if clients choose the shape. */
  readonly isShapedByClient: boolean;
}

/** The texts that are kept of an entity's statements that clients shape, and of all others. */
const MAX_TEXTS = 100;
/** A longer key comes from a long list of values, and hardly comes again. */
const MAX_KEY_LENGTH = 2000;

/** The statements of an entity whose text comes again with other values. */
export class KnownTexts {
  readonly #ofClients = new LruMap<string, Statement>(MAX_TEXTS);
  readonly #others = new LruMap<string, Statement>(MAX_TEXTS);

  /** Binds the values of a shape to its text, which is written if it is not known. A text is kept only if it binds exactly these values. */
  bind({ key, values, isShapedByClient }: Shaped, write: () => Bound): Bound {
    if (key === undefined || key.length > MAX_KEY_LENGTH) return write();
    const texts = isShapedByClient ? this.#ofClients : this.#others;
    const statement = texts.get(key);
    if (statement !== undefined) return { statement, values };
    const written = write();
    if (isDeepStrictEqual(written.values, values)) texts.set(key, written.statement);
    return written;
  }
}
