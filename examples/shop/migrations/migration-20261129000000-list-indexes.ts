import { Migration } from '@mikro-orm/migrations';

/** Indexes of the columns that lists are filtered and ordered by. */
export class ListIndexesMigration extends Migration {
  override up(): void {
    this.addSql(`create index "account_name_index" on "account" ("name");`);
    this.addSql(`create index "product_name_index" on "product" ("name");`);
    this.addSql(`create index "product_price_index" on "product" ("price");`);
    this.addSql(`create index "product_stock_index" on "product" ("stock");`);
  }
}
