import { Migration } from '@mikro-orm/migrations';

/** API keys, second factors, and logins by other services. */
export class FactorsMigration extends Migration {
  override up(): void {
    this.addSql(
      `create table "api_key" ("id" varchar(16) not null, "account_id" int not null, "name" varchar(100) not null, ` +
        `"hash" varchar(43) not null, "scopes" jsonb null, "expires_at" timestamptz(3) null, ` +
        `"last_used_at" timestamptz(3) null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(`create index "api_key_account_id_index" on "api_key" ("account_id");`);
    this.addSql(
      `create table "two_factor" ("id" serial primary key, "account_id" int not null, "secret" varchar(100) not null, ` +
        `"last_step" int null, "recovery_codes" varchar(500) not null, "confirmed_at" timestamptz(3) null);`,
    );
    this.addSql(`alter table "two_factor" add constraint "two_factor_account_id_unique" unique ("account_id");`);
    this.addSql(
      `create table "identity" ("id" serial primary key, "account_id" int not null, ` +
        `"provider" varchar(50) not null, "subject" varchar(255) not null);`,
    );
    this.addSql(`create index "identity_account_id_index" on "identity" ("account_id");`);
    this.addSql(
      `alter table "identity" add constraint "identity_provider_subject_unique" unique ("provider", "subject");`,
    );
    for (const table of ['api_key', 'two_factor', 'identity']) {
      this.addSql(
        `alter table "${table}" add constraint "${table}_account_id_foreign" foreign key ("account_id") ` +
          `references "account" ("id") on delete cascade;`,
      );
    }
  }
}
