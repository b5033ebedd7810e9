export { registerBackend } from './query/backend-of.ts';
export type { Backend, RowWrite, StartWarning } from './backends/backend.ts';
export { type DatabaseErrors, type PlacedViolation, readError, type Violation } from './backends/database-errors.ts';
export { ReadingBackend } from './backends/reading-backend.ts';
export type { RelatedFilters, Visible } from './backends/entity-filters.ts';
export { isSettled, NO_COLUMNS, type Question, type Select } from './backends/question.ts';
export type { JoinedChildren, RecordWithChildren } from './backends/joined-children.ts';
export type { Reading } from './backends/reading.ts';
export { type PageSource, readPage, type RowPage } from './backends/page.ts';
export { QueryMemo } from './backends/query-memo.ts';
export { type Discriminator, discriminatorOf } from './backends/discriminator.ts';
export { Scope } from './backends/scope.ts';
export { inverseSide, type Tie, tieOf } from './backends/tie.ts';
export { type KeysetTerms, keysetTerm, type Place, placesOf } from './backends/keyset.ts';

export { inLookups } from './query/language/across-relations.ts';
export { comparesOneKey, isAlways } from './query/language/condition.ts';
export { DOT, DOTTED_I, foldCase, foldedLetters, variantsOf } from './query/language/fold-case.ts';

export type { Group, Grouping, GroupKey, GroupTotal } from './query/language/grouping.ts';
export type { RelatedProjection } from './query/language/projection.ts';
export type { Query, Slice } from './query/language/query.ts';
export { isNativePath, nativeForm, type NativePath } from './query/language/native-term.ts';
export { countedRecords, isRelatedPath, type RelatedPath } from './query/language/related-path.ts';

export { PreciseDate } from './fields/calendar.ts';
export { shortDecimal } from './fields/decimal-text.ts';
export { customTypeOf, fieldType } from './fields/field-type.ts';
export { limitDecimals } from './mikro/exact-decimals.ts';
export { storedElement } from './mikro/exact-lists.ts';
export { primaryKey } from './fields/primary-key.ts';
export { holdsKeys, isPolymorphic, isToMany, valueProperty } from './fields/property.ts';

export { connectionFor, type Purpose } from './mikro/connection-for.ts';
export { guardTransaction } from './mikro/endable-transaction.ts';
export { writeQueryLog } from './mikro/query-log.ts';
export { hasTransactions } from './mikro/transactions.ts';

export { checkNotAborted, onAbort } from './http/abort-state.ts';
export { isPlainRecord, isRecord } from './support/json.ts';
export { repeated } from './support/repeated.ts';
