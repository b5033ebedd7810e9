import type { Platform } from '@mikro-orm/core';

/** A MikroORM platform that stores dates as texts. */
export interface TextualPlatform {
  formatDate(value: Date): string;
}

/** Formats a date in the configured time zone; undefined for a platform that does not store text. */
export function formattedDate(platform: Platform, value: Date): string | undefined {
  return (platform as Platform & Partial<TextualPlatform>).formatDate?.(value);
}
