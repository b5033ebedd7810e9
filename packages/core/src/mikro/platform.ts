import type { Platform } from '@mikro-orm/core';

/** A platform of MikroORM that writes dates as texts. */
export interface TextualPlatform {
  formatDate(value: Date): string;
}

/** The text of a date in the time zone that is configured; undefined for a platform that stores no text. */
export function formattedDate(platform: Platform, value: Date): string | undefined {
  return (platform as Platform & Partial<TextualPlatform>).formatDate?.(value);
}
