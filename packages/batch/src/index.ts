export { BatchViewSet, type BatchOptions } from './batch-viewset.ts';
export { BatchFailed, type FailedOperation } from './batch-failed.ts';
export type { BatchAnswer, BatchAnswers, BatchOperation } from './operation.ts';
