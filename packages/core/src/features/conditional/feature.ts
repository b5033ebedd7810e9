import { ImproperlyConfigured } from '../../errors/errors.ts';
import { BOOLEAN } from '../../errors/options.ts';
import type { Feature, FeatureView } from '../../view/setup/feature.ts';
import { conditionalRoute, type Preconditions } from './conditional-routes.ts';
import { ConditionalWrites } from './conditional-writes.ts';

declare module '../../view/setup/model-viewset-options.ts' {
  interface ModelViewSetOptions<Entity extends object> {
    /**
     * True: retrieve, create and update send an `ETag`. A GET gives 304 if its `If-None-Match` has the tag. A PUT, PATCH
     * or DELETE gives 412 and writes nothing if its `If-Match` lacks the tag (RFC 9110, section 13). Default: true if the
     * entity has a version or `requireIfMatch` is true, else false.
     */
    readonly etags?: boolean;
    /** True: a PUT, PATCH or DELETE without `If-Match` gives 428 (RFC 6585, section 3). Default: false. */
    readonly requireIfMatch?: boolean;
  }
}

/**
 * The option `etags`: entity tags of records, and the conditions of requests. A view without tags also has it, because a
 * tag in `If-Match` then matches no record, so the client's write must not happen.
 */
export const ETAGS: Feature<boolean | undefined> = {
  option: 'etags',
  rule: BOOLEAN,
  always: true,
  resolve: (view, etags) => {
    const preconditions = preconditionsOf(view, etags);
    return {
      extend: (route) => conditionalRoute(route, view, preconditions),
      writeCondition: new ConditionalWrites(view, preconditions),
    };
  },
};

/** The option `requireIfMatch`, which the feature of `etags` reads. */
export const REQUIRE_IF_MATCH: Feature<boolean> = { option: 'requireIfMatch', rule: BOOLEAN, resolve: () => ({}) };

/** Returns undefined if the view sends no `ETag`. */
function preconditionsOf(
  { name, meta: { versionProperty }, options }: FeatureView,
  etags: boolean | undefined,
): Preconditions | undefined {
  const isRequired = options['requireIfMatch'] === true;
  const sendsTags = etags ?? (isRequired || versionProperty !== undefined);
  if (sendsTags) return { isRequired };
  if (!isRequired) return undefined;
  throw new ImproperlyConfigured(`${name}: requireIfMatch needs the ETags that "etags: false" switches off`);
}
