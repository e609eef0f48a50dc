"""Sends signed events to a gateway and receives its effects: python3 systemd-load.py SECRET RATE STOP

Each event is sent once, over a separate connection. Sending ends once the file STOP exists. The last
two lines say how many events were sent and acknowledged, how many requests failed, and how many
acknowledged events were lost or doubled. See .ci/systemd-test.
"""

import asyncio
import collections
import hashlib
import hmac
import json
import os
import sys
import time

secret, rate, stop = sys.argv[1].encode(), int(sys.argv[2]), sys.argv[3]
received = collections.Counter()
acknowledged = []
errors = collections.Counter()
slowest = 0.0


async def request(reader):
    """Returns the body of a request, or None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionResetError):
        return None
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
    return await reader.readexactly(int(fields[b"content-length"]))


async def receive(reader, writer):
    """Counts the effects that arrive over a connection."""
    while (body := await request(reader)) is not None:
        received[json.loads(body)["id"]] += 1
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    writer.close()


async def send(number):
    """Sends one event."""
    global slowest
    name, began = f"evt_{number}", time.monotonic()
    body = json.dumps({"id": name, "object": "event", "type": "invoice.paid"}).encode()
    now = str(int(time.time())).encode()
    signature = hmac.new(secret, now + b"." + body, hashlib.sha256).hexdigest().encode()
    head = b"POST /webhooks/stripe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    head += b"Stripe-Signature: t=%b,v1=%b\r\nContent-Length: %d\r\n\r\n" % (now, signature, len(body))
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", 8080)
        writer.write(head + body)
        status = (await asyncio.wait_for(reader.readline(), 60)).split(b" ")[1:2]
        writer.close()
        if status == [b"200"]:
            acknowledged.append(name)
        else:
            errors[f"status {status}"] += 1
    except (OSError, asyncio.TimeoutError) as error:
        errors[repr(error)] += 1
    slowest = max(slowest, time.monotonic() - began)


async def main():
    server = await asyncio.start_server(receive, "127.0.0.1", 9000)
    sent, began, tasks = 0, time.monotonic(), set()
    while not os.path.exists(stop):
        while sent < (time.monotonic() - began) * rate:
            tasks.add(asyncio.create_task(send(sent)))
            sent += 1
        await asyncio.sleep(0.005)
        tasks = {task for task in tasks if not task.done()}
    took = time.monotonic() - began
    await asyncio.gather(*tasks)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(name not in received for name in acknowledged):
        await asyncio.sleep(0.2)
    await asyncio.sleep(2)  # for effects that are applied again
    server.close()
    lost = sum(name not in received for name in acknowledged)
    doubled = sum(count > 1 for count in received.values())
    for error, count in errors.items():
        print(f"{count} times: {error}")
    print(f"{sent} sent at {sent / took:.0f}/s, {len(acknowledged)} acknowledged, the slowest after {slowest:.1f} s")
    print(f"{errors.total()} refused, {lost} lost, {doubled} doubled")


asyncio.run(main())
