/** The mutants that stay undetected, with the reason why they cannot or need not be detected. */
export const ACCEPTED: readonly { readonly file: string; readonly names: readonly string[]; readonly why: string }[] = [
  {
    file: 'viewsets/product-viewset.ts',
    names: ['minimum', 'maxItems', 'description'],
    why: 'a keyword in the schema of an answer is for documents: answers are written by it, not judged',
  },
  {
    file: 'viewsets/account-viewset.ts',
    names: ['auth.account_deleted', 'auth.role_changed', 'auth.account_enabled', 'auth.account_disabled'],
    why: "the name of an application's own event in the log, which its tests of the log know",
  },
  {
    file: 'viewsets/account-viewset.ts',
    names: ['target', 'role', 'was'],
    why: "a field of an application's own event in the log",
  },
  {
    file: 'app.ts',
    names: ['ViewsetTypes'],
    why: 'an interface of another name may be declared too; without this one the user is of the least type',
  },
  {
    file: 'app.ts',
    names: ['auth', 'health'],
    why: 'words about a tag that may yet come; the linters of documents name those that no operation has',
  },
  {
    file: 'app.ts',
    names: ['Shop'],
    why: 'the name that a passkey and an authenticator show to people',
  },
  { file: 'app.ts', names: ['shop'], why: 'the text in front of API keys, by which people tell whose a key is' },
  {
    file: 'program.ts',
    names: ['Role', 'Account', 'Note'],
    why: 'the name of an entity is that of its table, which this program makes itself',
  },
  { file: 'program.ts', names: ['pinned', 'title'], why: 'a name on the wire, which this program does not ask for' },
  { file: 'program.ts', names: ['Lire', 'Compter'], why: 'the values of records' },
  { file: 'program.ts', names: ['a secret of at least thirty-two bytes'], why: 'any secret does' },
  {
    file: 'program.ts',
    names: ['email', 'password', 'nobody@example.com', 'a wrong password'],
    why: 'a login that is to fail does so whatever is wrong with it',
  },
  { file: 'program.ts', names: [':memory:'], why: 'another name is that of a file, which does as well' },
  { file: 'program.ts', names: ['true'], why: 'MikroORM takes a text as the default of a boolean' },
];
