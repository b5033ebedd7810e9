import type { Feature } from '../view/setup/feature.ts';
import type { PluggedOption } from '../view/setup/features.ts';
import { BULK } from './bulk/feature.ts';
import { CONSTRAINTS } from './constraints/feature.ts';
import { ETAGS, REQUIRE_IF_MATCH } from './conditional/feature.ts';
import { ENVELOPE } from './envelope/feature.ts';
import { EMITS } from './emits/feature.ts';
import { EXPORTS } from './exports/feature.ts';
import { FILES } from './files/feature.ts';
import { HISTORY } from './history/feature.ts';
import { LIVE } from './live/feature.ts';
import { SOFT_DELETE } from './soft-delete/feature.ts';
import { SUMMARY } from './summary/feature.ts';

/** The features of the library, in the order in which they apply to a view. */
export const BUILT_IN_FEATURES: readonly (Feature | PluggedOption)[] = [
  ENVELOPE,
  FILES,
  SOFT_DELETE,
  BULK,
  ETAGS,
  REQUIRE_IF_MATCH,
  CONSTRAINTS,
  EXPORTS,
  SUMMARY,
  EMITS,
  LIVE,
  HISTORY,
];
