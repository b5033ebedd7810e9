import { checkOptionNames, InvalidUsage, wrongOption } from '@viewset/core';
import { type TString, Type } from 'typebox';
import { type PasswordLengths, passwordField } from './password-field.ts';
import { normalizePassword } from './password-hasher.ts';

/** The owner of a password. */
export interface PasswordOwner {
  readonly email: string;
  readonly name: string;
}

/** Returns true to reject a password because it is too common, or too easy to guess for its owner. */
export type IsCommonPassword = (password: string, owner: PasswordOwner) => boolean | Promise<boolean>;

/** The rules for new passwords, in all routes. */
export interface PasswordOptions extends PasswordLengths {
  /** Passwords to reject: a list, compared ignoring case, or a function. Default: none. */
  readonly commonPasswords?: Iterable<string> | IsCommonPassword;
}

const DEFAULT_LENGTHS = { minLength: 6, maxLength: 50 };

/** The rules for new passwords: their schema, and rules that a schema cannot express. */
export class PasswordRules {
  /** Checks a password of a body. */
  readonly field: TString;
  /** Describes it in documents. */
  readonly documented: TString;
  readonly #isCommon: IsCommonPassword | undefined;

  /**
   * @param maxBytes the most bytes of UTF-8 that the hasher takes
   * @throws ImproperlyConfigured for a wrong option
   */
  constructor(options: PasswordOptions = {}, maxBytes: number) {
    checkOptionNames('auth: option "passwords"', options, ['minLength', 'maxLength', 'commonPasswords']);
    const { commonPasswords, ...given } = options;
    const lengths = { ...DEFAULT_LENGTHS, ...given };
    this.field = passwordField({ ...lengths, maxBytes });
    const bound = Number.isFinite(maxBytes) ? { description: `At most ${maxBytes} bytes of UTF-8` } : {};
    this.documented = Type.String({ ...lengths, pattern: '^[^\\u0000]*$', ...bound });
    this.#isCommon = resolveCommon(commonPasswords);
  }

  /** Throws InvalidUsage for a common password, with the body's field that contained it. */
  async refuseCommon(password: string, owner: PasswordOwner, field: string): Promise<void> {
    if ((await this.#isCommon?.(password, owner)) !== true) return;
    const details = [{ in: 'body', path: `/${field}`, message: 'is too common' }] as const;
    throw new InvalidUsage('The password is too common', { details });
  }
}

function resolveCommon(given: PasswordOptions['commonPasswords']): IsCommonPassword | undefined {
  if (given === undefined || typeof given === 'function') return given;
  const isList = typeof given === 'object' && given !== null && Symbol.iterator in given;
  if (!isList) throw wrongOption('auth', 'passwords.commonPasswords', 'a list of passwords, or a function', given);
  const common = new Set([...given].map(folded));
  return (password) => common.has(folded(password));
}

function folded(password: string): string {
  return normalizePassword(password).toLowerCase();
}
