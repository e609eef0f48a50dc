package senders

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

const (
	large = 900 << 10 // bytes
	deep  = 100_000   // nested arrays
)

// poison returns a body that breaks careless parsers. The body may contain anything, because the
// id is in a header.
func poison(dice *rand.Rand) []byte {
	switch n := dice.IntN(400); {
	case n == 0:
		return slices.Concat([]byte(`{"large":"`), bytes.Repeat([]byte("x"), large), []byte(`"}`))
	case n < 5:
		return slices.Concat(bytes.Repeat([]byte("["), deep), bytes.Repeat([]byte("]"), deep))
	case n < 10:
		return randomBytes(dice, 4096)
	}
	bodies := [][]byte{
		{},
		[]byte("\x00"),
		[]byte("{\"a\":\"\x00\"}"),
		[]byte(`{"a":"\u0000"}`),
		[]byte("{\"a\":\"\xff\xfe\xc0\x80\"}"),
		[]byte(`{"a":"\ud800"}`),
		[]byte(`{"a":"\udc00\ud800"}`),
		[]byte("1e" + "400"),
		[]byte(`{"a":1e400000}`),
		[]byte(`{"a":-0.0,"b":1.10,"c":123456789012345678901234567890}`),
		[]byte(`{"a":1,"a":2,"b":1.10,"type":"x","type":"y"}`),
		[]byte("\xef\xbb\xbf{\"a\":1}"),
		[]byte("{\"a\":\r\n\"b\r\nX-Injected: 1\r\n\r\n\"}\r\n"),
		[]byte("\r\n\r\n"),
		[]byte(`{"a":`),
		[]byte("null"),
		[]byte(`"; DROP TABLE hooklatch.events; --"`),
		[]byte(`{"a":"{{ .event.id }}${env.SECRET}%s%n"}`),
		[]byte("{\"a\":\"\u202e\u2028\u2029\ufeff\U0001f4a5\"}"),
		bytes.Repeat([]byte(`{"a":`), 1000),
	}
	return bodies[dice.IntN(len(bodies))]
}

func randomBytes(dice *rand.Rand, most int) []byte {
	body := make([]byte, dice.IntN(most))
	for i := range body {
		body[i] = byte(dice.IntN(256)) //nolint:gosec // below 256
	}
	return body
}
