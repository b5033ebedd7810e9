/** An application whose files are mutated. */
export interface Example {
  readonly name: string;
  /** The folder of its files, from the root of the repository. */
  readonly folder: string;
  /** The files whose names and literals are changed. */
  readonly mutated: readonly string[];
  /** The file that starts it. */
  readonly entry: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    name: 'the shop',
    folder: 'examples/shop/src',
    mutated: [
      'entities/role.ts',
      'entities/product.ts',
      'entities/account.ts',
      'viewsets/role-viewset.ts',
      'viewsets/product-viewset.ts',
      'viewsets/account-viewset.ts',
      'app.ts',
    ],
    entry: 'app.ts',
  },
  {
    name: 'the first program of a user',
    folder: 'scripts/consumer',
    mutated: ['program.ts'],
    entry: 'program.ts',
  },
];
