// Transactions that store orders and enqueue the calls for them, with node-postgres:
//
//   npm install
//   DATABASE_URL=postgres://... node enqueue.js 1001
//
// The program needs a table orders (id, total), and a destination crm that a worker has
// registered. Hooklatch makes one call for an order if and only if the order is stored. With
// --fail the program rolls the transaction back.
"use strict";

const { Client } = require("pg");

// place stores an order and returns whether its call is new.
async function place(client, id, total, fail) {
  await client.query("BEGIN");
  try {
    await client.query("INSERT INTO orders (id, total) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", [id, total]);
    const { rows } = await client.query("SELECT hooklatch.enqueue($1, $2, $3) AS is_new", [
      "crm",
      `order-${id}`,
      JSON.stringify({ order: id, total }),
    ]);
    if (fail) {
      throw new Error("out of stock");
    }
    await client.query("COMMIT");
    return rows[0].is_new;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

async function main([id, flag]) {
  const client = new Client({ connectionString: process.env.DATABASE_URL });
  await client.connect();
  try {
    console.log((await place(client, Number(id), 99.9, flag === "--fail")) ? "new" : "known");
  } finally {
    await client.end();
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
