/** True if a statement failed because another process had locked the database. */
export function isBusy(error: unknown): boolean {
  return /^SQLITE_(?:BUSY|LOCKED)/.test(String((error as { code?: unknown } | null)?.code));
}
