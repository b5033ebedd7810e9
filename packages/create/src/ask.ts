import type { Readable, Writable } from 'node:stream';
import { group, multiselect, select, text } from '@clack/prompts';
import { type Choices, type GivenChoices, PART_NAMES, PARTS, withDefaults } from './choices.ts';
import { Mistake } from './mistake.ts';

/** A terminal. */
export interface Terminal {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Asks for the choices that the command line leaves open.
 *
 * @throws Mistake if the user cancels
 */
export async function askChoices(given: GivenChoices, terminal: Terminal): Promise<Choices> {
  const defaults = withDefaults(given);
  const open = PART_NAMES.filter((part) => given.chosen[part] === undefined);
  const answers = await group(
    {
      folder: () =>
        given.folder === undefined
          ? text({
              message: 'Which folder?',
              placeholder: defaults.folder,
              defaultValue: defaults.folder,
              ...terminal,
            })
          : undefined,
      database: () =>
        given.database === undefined
          ? select({
              message: 'Which database?',
              options: [
                { value: 'sqlite', label: 'SQLite', hint: 'a file, needs no server' },
                { value: 'postgresql', label: 'PostgreSQL' },
                { value: 'mongodb', label: 'MongoDB' },
              ],
              ...terminal,
            })
          : undefined,
      parts: () =>
        open.length > 0
          ? multiselect({
              message: 'Which parts? (space chooses, enter ends)',
              options: open.map((part) => ({ value: part, label: PARTS[part] })),
              initialValues: open,
              required: false,
              ...terminal,
            })
          : undefined,
    },
    {
      onCancel: () => {
        throw new Mistake('Nothing was made');
      },
    },
  );
  // Questions that were not asked have no answer, but clack's types do not say so.
  const { folder, database, parts: wanted = [] } = answers as Partial<Pick<Choices, 'folder' | 'database' | 'parts'>>;
  return {
    ...defaults,
    folder: folder ?? defaults.folder,
    database: database ?? defaults.database,
    parts: PART_NAMES.filter((part) => given.chosen[part] ?? wanted.includes(part)),
  };
}
