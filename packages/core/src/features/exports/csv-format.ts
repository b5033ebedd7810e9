import { BOOLEAN, checkOptions, type OptionRule } from '../../errors/options.ts';

const DELIMITERS = [',', ';', '\t', '|'] as const;
/** The character between two cells of a CSV file. */
export type CsvDelimiter = (typeof DELIMITERS)[number];

/** The options of `csv()`. */
export interface CsvOptions {
  /**
   * True: the file starts with a byte order mark. Excel reads a file without one in the code page of the computer, so
   * that `Zoë` becomes `ZoÃ«`. Other readers may take the mark as a part of the first name. Default: false.
   */
  readonly bom?: boolean;
  /**
   * The character between two cells. Excel splits by a semicolon in countries with a decimal comma, and by a comma in
   * the others. Default: a comma, as in RFC 4180.
   */
  readonly delimiter?: CsvDelimiter;
}

const RULES: Readonly<Record<keyof CsvOptions, OptionRule>> = {
  bom: BOOLEAN,
  delimiter: [
    `one of ${DELIMITERS.map((delimiter) => JSON.stringify(delimiter)).join(', ')}`,
    (value) => DELIMITERS.includes(value as CsvDelimiter),
  ],
};

const NAMES: Readonly<Record<CsvDelimiter, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'vertical bars',
};

/** How a view writes CSV. Made by `csv()`. */
export class CsvFormat {
  readonly bom: boolean;
  readonly delimiter: CsvDelimiter;

  constructor({ bom = false, delimiter = ',' }: CsvOptions) {
    this.bom = bom;
    this.delimiter = delimiter;
    Object.freeze(this);
  }

  /** The form of the file in words, for documents. */
  get description(): string {
    const mark = this.bom ? ', after a byte order mark' : '';
    return `The whole list: a line of names first, cells separated by ${NAMES[this.delimiter]}${mark}`;
  }
}

/**
 * Chooses how a view writes CSV, in its option `exports`. `'csv'` is the same as `csv()`.
 *
 * @throws ImproperlyConfigured for unknown options and wrong values
 * @example
 * class ProductViewSet extends ModelViewSet(Product, {
 *   read: readShape(Product, ['id', 'name', 'stock']),
 *   exports: [csv({ bom: true, delimiter: ';' })],
 * }) {}
 * // GET /products.csv → '\ufeffid;name;stock\r\n1;Compass;3\r\n'
 */
export function csv(options: CsvOptions = {}): CsvFormat {
  checkOptions('csv()', options, RULES);
  return new CsvFormat(options);
}
