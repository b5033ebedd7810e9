export { history } from './history.ts';
export { HistoryEntry } from './history-entry.ts';
export { pruneHistory } from './prune-history.ts';
