// Signs and verifies requests with each provider's own SDK, listed by its npm name.
//
//   sign(request, secret)    changes an unsigned request's headers (for some SDKs its body or URL)
//   accepts(request, secret) returns whether a request is genuine, or throws an error
//   signed                   text in the body before the signed part, if only a part is signed

import { webcrypto } from 'node:crypto'

import { hmacValidator as HmacValidator } from '@adyen/api-library'
import { Signature } from '@hubspot/api-client'
import { validateSignature } from '@line/bot-sdk'
import { LinearWebhookClient } from '@linear/sdk/webhooks'
import Mux from '@mux/mux-node'
import * as octokit from '@octokit/webhooks-methods'
import { Paddle } from '@paddle/paddle-node-sdk'
import { EventWebhook, EventWebhookHeader } from '@sendgrid/eventwebhook'
import { WorkOS } from '@workos-inc/node'
import braintree from 'braintree'
import { verifyKey } from 'discord-interactions'
import Razorpay from 'razorpay'
import square from 'square'
import * as standard from 'standardwebhooks'
import Stripe from 'stripe'
import * as svix from 'svix'
import twilio from 'twilio'

globalThis.crypto ??= webcrypto // Node 18 has no global crypto

const isForm = (request) => request.headers['content-type'].startsWith('application/x-www-form-urlencoded')

// fields returns a form's fields: a text, or all texts if a name occurs more than once.
function fields(body) {
  const form = new URLSearchParams(body)
  return Object.fromEntries([...form.keys()].map((name) => [name, form.getAll(name).length > 1 ? form.getAll(name) : form.get(name)]))
}

// standardWebhooks wraps an SDK for Standard Webhooks. The headers begin with webhook- or with svix-.
const standardWebhooks = (Webhook) => ({
  sign({ headers, body }, secret) {
    const family = 'svix-id' in headers ? 'svix' : 'webhook'
    const now = new Date()
    headers[`${family}-timestamp`] = String(Math.floor(now / 1000))
    headers[`${family}-signature`] = new Webhook(secret).sign(headers[`${family}-id`], now, body)
  },
  accepts({ headers, body }, secret) {
    new Webhook(secret).verify(body, headers)
    return true
  },
})

const workos = new WorkOS('sk_unused')

function braintreeGateway(secret) {
  const [publicKey, privateKey] = secret.split(':')
  return new braintree.BraintreeGateway({ environment: braintree.Environment.Sandbox, merchantId: 'unused', publicKey, privateKey })
}

export const sdks = {
  '@adyen/api-library': {
    signed: '"pspReference":"',
    sign(request, secret) {
      const body = JSON.parse(request.body)
      if (!body.notificationItems) {
        request.headers.hmacsignature = new HmacValidator().calculateHmac(request.body, secret)
        return
      }
      for (const { NotificationRequestItem: item } of body.notificationItems) {
        item.additionalData.hmacSignature = new HmacValidator().calculateHmac(item, secret)
      }
      request.body = JSON.stringify(body)
    },
    accepts({ headers, body }, secret) {
      const { notificationItems: items } = JSON.parse(body)
      if (!items) return new HmacValidator().validateHMACSignature(secret, headers.hmacsignature, body)
      return items.every(({ NotificationRequestItem: item }) => new HmacValidator().validateHMAC(item, secret))
    },
  },

  '@hubspot/api-client': {
    sign({ method, url, headers, body }, secret) {
      const timestamp = Date.now()
      headers['x-hubspot-request-timestamp'] = String(timestamp)
      headers['x-hubspot-signature-v3'] = Signature.getSignature(method, 'v3', { clientSecret: secret, url, requestBody: body, timestamp })
    },
    accepts: ({ method, url, headers, body }, secret) =>
      Signature.isValid({
        method,
        url,
        clientSecret: secret,
        requestBody: body,
        signatureVersion: 'v3',
        signature: headers['x-hubspot-signature-v3'],
        timestamp: Number(headers['x-hubspot-request-timestamp']),
      }),
  },

  '@line/bot-sdk': {
    accepts: ({ headers, body }, secret) => validateSignature(body, secret, headers['x-line-signature']),
  },

  '@linear/sdk': {
    accepts: ({ headers, body }, secret) =>
      new LinearWebhookClient(secret).verify(Buffer.from(body), headers['linear-signature'], JSON.parse(body).webhookTimestamp),
  },

  '@mux/mux-node': {
    async accepts({ headers, body }, secret) {
      await new Mux({ tokenId: 'unused', tokenSecret: 'unused' }).webhooks.verifySignature(body, headers, secret)
      return true
    },
  },

  '@octokit/webhooks-methods': {
    async sign({ headers, body }, secret) {
      headers['x-hub-signature-256'] = await octokit.sign(secret, body)
    },
    accepts: ({ headers, body }, secret) => octokit.verify(secret, body, headers['x-hub-signature-256']),
  },

  '@paddle/paddle-node-sdk': {
    accepts: ({ headers, body }, secret) => new Paddle('unused').webhooks.isSignatureValid(body, secret, headers['paddle-signature']),
  },

  '@sendgrid/eventwebhook': {
    accepts({ headers, body }, publicKey) {
      const webhook = new EventWebhook()
      const header = (name) => headers[name.toLowerCase()]
      return webhook.verifySignature(
        webhook.convertPublicKeyToECDSA(publicKey), body, header(EventWebhookHeader.SIGNATURE()), header(EventWebhookHeader.TIMESTAMP()))
    },
  },

  '@workos-inc/node': {
    async sign({ headers, body }, secret) {
      const timestamp = Date.now()
      const signature = await workos.webhooks.computeSignature(timestamp, JSON.parse(body), secret)
      headers['workos-signature'] = `t=${timestamp}, v1=${signature}`
    },
    accepts: ({ headers, body }, secret) =>
      workos.webhooks.verifyHeader({ payload: JSON.parse(body), sigHeader: headers['workos-signature'], secret }),
  },

  braintree: {
    signed: 'bt_payload=',
    sign(request, secret) {
      const kind = braintree.WebhookNotification.Kind.SubscriptionChargedSuccessfully
      request.body = String(new URLSearchParams(braintreeGateway(secret).webhookTesting.sampleNotification(kind, 'subscription_1')))
    },
    async accepts({ body }, secret) {
      const { bt_signature: signature, bt_payload: payload } = fields(body)
      await braintreeGateway(secret).webhookNotification.parse(signature, payload)
      return true
    },
  },

  'discord-interactions': {
    accepts: ({ headers, body }, publicKey) =>
      verifyKey(body, headers['x-signature-ed25519'], headers['x-signature-timestamp'], publicKey),
  },

  razorpay: {
    accepts: ({ headers, body }, secret) => Razorpay.validateWebhookSignature(body, headers['x-razorpay-signature'], secret),
  },

  square: {
    accepts: ({ url, headers, body }, secret) =>
      square.WebhooksHelper.isValidWebhookEventSignature(body, headers['x-square-hmacsha256-signature'], secret, url),
  },

  standardwebhooks: standardWebhooks(standard.Webhook),

  stripe: {
    sign({ headers, body }, secret) {
      headers['stripe-signature'] = Stripe.webhooks.generateTestHeaderString({ payload: body, secret })
    },
    accepts({ headers, body }, secret) {
      Stripe.webhooks.constructEvent(body, headers['stripe-signature'], secret)
      return true
    },
  },

  svix: standardWebhooks(svix.Webhook),

  twilio: {
    sign(request, secret) {
      if (!isForm(request)) request.url += `?bodySHA256=${twilio.getExpectedBodyHash(request.body)}`
      const params = isForm(request) ? fields(request.body) : {}
      request.headers['x-twilio-signature'] = twilio.getExpectedTwilioSignature(secret, request.url, params)
    },
    accepts(request, secret) {
      const { url, headers, body } = request
      if (isForm(request)) return twilio.validateRequest(secret, headers['x-twilio-signature'], url, fields(body))
      return twilio.validateRequestWithBody(secret, headers['x-twilio-signature'], url, body)
    },
  },
}
