import { Migration } from '@mikro-orm/migrations';

/** The sessions of accounts. */
export class SessionsMigration extends Migration {
  override up(): void {
    this.addSql(
      `create table "session" ("id" uuid not null, "account_id" int not null, "token_hash" varchar(43) not null, ` +
        `"created_at" timestamptz(3) not null, "last_used_at" timestamptz(3) not null, ` +
        `"expires_at" timestamptz(3) not null, "ip" varchar(45) not null, "user_agent" varchar(255) null, ` +
        `primary key ("id"));`,
    );
    this.addSql(`create index "session_account_id_index" on "session" ("account_id");`);
    this.addSql(`create index "session_expires_at_index" on "session" ("expires_at");`);
    this.addSql(
      `alter table "session" add constraint "session_account_id_foreign" foreign key ("account_id") ` +
        `references "account" ("id") on delete cascade;`,
    );
  }
}
