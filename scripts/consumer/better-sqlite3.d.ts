/** MikroORM's declarations name this driver's, which its package does not bring. */
declare module 'better-sqlite3' {
  namespace Database {
    interface Database {
      readonly name: string;
    }
  }
  export default Database;
}
