// Lets the SDKs sign deliveries to a running gateway, and verify deliveries that we signed.
//
// Standard input is {gateway, requests, cases: [{name, sdk, secret, public_key, signs}]}: the gateway's base URL, the base URL at which
// /unsigned/{name} and /signed/{name} return {method, url, headers, body} with lower-case header names, and the cases to try.
// Standard output is one JSON line per case: {name, answers: [{status, outcome}], genuine, tampered}, or {name, error}.

import { text } from 'node:stream/consumers'

import { sdks } from './sdks.mjs'

const { gateway, requests, cases } = JSON.parse(await text(process.stdin))

async function request(kind, name) {
  const answer = await fetch(`${requests}/${kind}/${name}`)
  if (!answer.ok) throw new Error(`${kind} request: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

// changed returns the request with one signed byte changed, inside a text, so that the body can still be read.
function changed(request, { signed }) {
  const { body } = request
  let at = signed && body.includes(signed) ? body.indexOf(signed) + signed.length : body.search(/(?<=":")\w/)
  if (at < 0) at = body.length - 1
  return { ...request, body: body.slice(0, at) + (body[at] === 'x' ? 'y' : 'x') + body.slice(at + 1) }
}

// post sends a request for the public URL directly to the gateway, without the proxy of a real deployment.
async function post({ method, url, headers, body }) {
  const { pathname, search } = new URL(url)
  const answer = await fetch(gateway + pathname + search, { method, headers, body })
  await answer.arrayBuffer()
  return { status: answer.status, outcome: answer.headers.get('hooklatch-status') ?? '' }
}

async function replay({ name, sdk: sdkName, secret, public_key: publicKey, signs }) {
  const sdk = sdks[sdkName]
  const answers = []
  if (signs) {
    const delivery = await request('unsigned', name)
    await sdk.sign(delivery, secret)
    for (const one of [delivery, delivery, changed(delivery, sdk)]) answers.push(await post(one))
  }
  let ours, genuine
  for (let attempt = 0; !genuine && attempt < 10; attempt++) { // Paddle's SDK accepts a signature for only 5 seconds
    ours = await request('signed', name)
    genuine = await sdk.accepts(ours, publicKey ?? secret)
  }
  let tampered
  try {
    tampered = await sdk.accepts(changed(ours, sdk), publicKey ?? secret)
  } catch {
    tampered = false
  }
  return { answers, genuine, tampered }
}

for (const one of cases) {
  const outcome = await replay(one).catch((error) => ({ error: error.stack ?? String(error) }))
  console.log(JSON.stringify({ name: one.name, ...outcome }))
}
