import { Migration } from '@mikro-orm/migrations';

/** Roles, accounts and products. */
export class InitialMigration extends Migration {
  override up(): void {
    this.addSql(
      `create table "product" ("id" serial primary key, "name" varchar(200) not null, ` +
        `"price" numeric(10,2) not null, "stock" int not null default 0);`,
    );
    this.addSql(`create table "role" ("id" serial primary key, "name" varchar(50) not null, "description" text null);`);
    this.addSql(`alter table "role" add constraint "role_name_unique" unique ("name");`);
    this.addSql(
      `create table "account" ("id" serial primary key, "name" varchar(100) not null, "email" varchar(255) not null, ` +
        `"password" varchar(255) not null, "role_id" int null, "is_active" boolean not null default true, ` +
        `"last_login" timestamptz(3) null, "created_at" timestamptz(3) not null);`,
    );
    this.addSql(`alter table "account" add constraint "account_email_unique" unique ("email");`);
    this.addSql(
      `alter table "account" add constraint "account_role_id_foreign" foreign key ("role_id") ` +
        `references "role" ("id") on delete restrict;`,
    );
  }
}
