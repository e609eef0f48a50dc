// This example receives webhooks from Hooklatch. It verifies the signature and
// applies each webhook-id once.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

const toleranceSeconds = 300;
const key = Buffer.from((process.env.APP_SECRET ?? "").replace(/^whsec_/, ""), "base64");

// In your program this is a table with a unique webhook_id. Insert with ON
// CONFLICT DO NOTHING, in the transaction of your own writes.
const applied = new Set<string>();

// verify checks the signature over the bytes as received. Parse them afterwards.
function verify(headers: IncomingHttpHeaders, body: Buffer): boolean {
  const id = String(headers["webhook-id"] ?? "");
  const timestamp = String(headers["webhook-timestamp"] ?? "");
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!/^\d+$/.test(timestamp) || age > toleranceSeconds) return false;
  const want = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  // During a secret rotation, the header has several signatures: one must match.
  return String(headers["webhook-signature"] ?? "").split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",");
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === want.length && timingSafeEqual(given, want);
  });
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks); // with Express: express.raw({ type: "*/*" })
  if (request.method !== "POST" || !verify(request.headers, body)) {
    response.writeHead(401).end("unauthorized\n");
    return;
  }
  const id = String(request.headers["webhook-id"]);
  const what = applied.has(id) ? "known" : "applied";
  applied.add(id); // apply the event's changes in the same transaction
  console.log(what, id, request.headers["content-type"], body.length);
  response.writeHead(204).end(); // a duplicate gets the same response
});
server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log("listening", (server.address() as AddressInfo).port);
});
