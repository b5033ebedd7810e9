import type { Platform } from '@mikro-orm/core';

/** The text of a date in the time zone that is configured; undefined for a platform that stores no text. */
export function formattedDate(platform: Platform, value: Date): string | undefined {
  const { formatDate } = platform as Platform & { formatDate?: (value: Date) => string };
  return formatDate?.call(platform, value);
}
