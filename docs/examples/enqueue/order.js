// An order and the call it causes, one transaction, with node-postgres:
//
//   npm install pg
//   DATABASE_URL=postgres://... node order.js 4711
//
// The call is made exactly if the order is stored, once for each order.
"use strict";

const { Client } = require("pg");

// place stores an order and says whether its call is new.
async function place(client, id, total) {
  await client.query("BEGIN");
  try {
    await client.query("INSERT INTO orders (id, total) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", [id, total]);
    const { rows } = await client.query("SELECT hooklatch.enqueue($1, $2, $3) AS is_new", [
      "mail",
      `order-${id}`,
      JSON.stringify({ order: id, total }),
    ]);
    await client.query("COMMIT");
    return rows[0].is_new;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

async function main() {
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  try {
    console.log((await place(client, process.argv[2], 99.9)) ? "new" : "known");
  } finally {
    await client.end();
  }
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
