import { ImproperlyConfigured } from '@viewset/core';
import type { Definition } from '../definition.ts';
import type { Form, MakeForm } from './form.ts';
import { mongoForm } from './mongodb-form.ts';
import { postgreSqlForm } from './postgresql-form.ts';
import { sqliteForm } from './sqlite-form.ts';

const FORMS: Readonly<Record<string, MakeForm>> = {
  PostgreSQL: postgreSqlForm,
  SQLite: sqliteForm,
  MongoDB: mongoForm,
};

/** @throws ImproperlyConfigured for an unsupported database, or a definition that it cannot index */
export function formOf(database: string, definition: Definition): Form {
  const make = FORMS[database];
  if (make !== undefined) return make(definition);
  throw new ImproperlyConfigured(
    `fullText() works on ${Object.keys(FORMS).join(', ')}; this application runs on ${database}`,
  );
}
