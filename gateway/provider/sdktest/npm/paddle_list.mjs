// Reads a destination's notifications with Paddle's SDK.
//
// Standard input is {base, setting, from, to}: the API's URL, the destination's id, and the period to read.
// Standard output is a JSON line with {destination}, and one JSON line for each notification: {ref, id, type, occurred}.

import { text } from 'node:stream/consumers'

import { LogLevel, Paddle } from '@paddle/paddle-node-sdk'

const { base, setting, from, to } = JSON.parse(await text(process.stdin))
const paddle = new Paddle('unused', { environment: base, logLevel: LogLevel.none })

const { destination } = await paddle.notificationSettings.get(setting)
console.log(JSON.stringify({ destination }))
for await (const { id, payload } of paddle.notifications.list({ notificationSettingId: [setting], orderBy: 'id[ASC]', perPage: 200, from, to })) {
  console.log(JSON.stringify({ ref: id, id: payload.eventId, type: payload.eventType, occurred: payload.occurredAt }))
}
