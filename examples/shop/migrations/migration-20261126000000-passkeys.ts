import { Migration } from '@mikro-orm/migrations';

/** Passkeys. */
export class PasskeysMigration extends Migration {
  override up(): void {
    this.addSql(
      `create table "passkey" ("id" uuid not null, "account_id" int not null, "name" varchar(100) not null, ` +
        `"credential_id" varchar(1364) not null, "public_key" varchar(1024) not null, "counter" bigint not null, ` +
        `"transports" jsonb null, "created_at" timestamptz(3) not null, "last_used_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`create index "passkey_account_id_index" on "passkey" ("account_id");`);
    this.addSql(`alter table "passkey" add constraint "passkey_credential_id_unique" unique ("credential_id");`);
    this.addSql(
      `alter table "passkey" add constraint "passkey_account_id_foreign" foreign key ("account_id") ` +
        `references "account" ("id") on delete cascade;`,
    );
  }
}
