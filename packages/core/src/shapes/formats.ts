import type { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { formatNames } from 'ajv-formats/dist/formats.js';
import { IsIdnEmail, IsIdnHostname, IsIri, IsIriReference } from 'typebox/format';
import { isDate, isDateTime, isTime } from './iso-date.ts';

/**
 * The formats that a schema may name: those of ajv-formats, the international ones of TypeBox, and `date`, `time` and
 * `date-time` as this framework reads them, so that what is valid can always be kept.
 */
export function addAllFormats(ajv: Ajv): void {
  addFormats.default(ajv);
  for (const [name, isValid] of Object.entries(OWN_FORMATS)) ajv.addFormat(name, isValid);
}

const OWN_FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  'date-time': isDateTime,
  time: isTime,
  'idn-email': IsIdnEmail,
  'idn-hostname': IsIdnHostname,
  iri: IsIri,
  'iri-reference': IsIriReference,
};

/** The names of all of them. */
export const FORMAT_NAMES: ReadonlySet<string> = new Set([...formatNames, ...Object.keys(OWN_FORMATS)]);

/** How a person is told what a format asks for. */
export const FORMAT_MESSAGES: Readonly<Record<string, string>> = {
  date: 'must be a date such as 2026-01-31',
  'date-time': 'must be a date and time such as 2026-01-31T12:00:00Z',
  email: 'must be an e-mail address',
  hostname: 'must be a host name',
  'idn-email': 'must be an e-mail address',
  ipv4: 'must be an IPv4 address',
  ipv6: 'must be an IPv6 address',
  time: 'must be a time of day such as 23:59:59',
  uri: 'must be a URI',
  url: 'must be a URL',
  uuid: 'must be a UUID',
};
