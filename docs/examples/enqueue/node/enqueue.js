// Orders and the calls they cause, by transactions, with node-postgres:
//
//   npm install
//   DATABASE_URL=postgres://... node enqueue.js 1001
//
// It needs a table orders (id, total), and a destination crm that a worker has
// registered. The call is made exactly if the order is stored, once for each
// order. With --fail the program changes its mind before it commits.
"use strict";

const { Client } = require("pg");

// place stores an order and says whether its call is new.
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
