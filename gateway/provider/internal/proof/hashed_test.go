package proof

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider"
)

func keyOfBody(t *testing.T, rule KeyRule, r *provider.Request) string {
	t.Helper()
	key, err := rule(&Document{R: r})
	require.NoError(t, err)
	return key
}

func TestHashedMixesPlaces(t *testing.T) {
	t.Parallel()
	rule := HashedSome([]Field{InHeader("X-Shop"), At("/a")}, InHeader("X-Topic"), At("/b"))
	make := func(header http.Header, body string) *provider.Request {
		return &provider.Request{Header: header, Body: []byte(body)}
	}
	same := []*provider.Request{
		make(http.Header{"X-Shop": {"s"}}, `{"a":{"x":1,"y":[2]},"c":1}`),
		make(http.Header{"X-Shop": {"s"}, "X-Attempt": {"2"}}, ` { "c":2, "a" : {"y":[ 2 ],"\u0078":1} }`),
	}
	different := []*provider.Request{
		same[0],
		make(http.Header{"X-Shop": {"t"}}, `{"a":{"x":1,"y":[2]}}`),
		make(http.Header{"X-Shop": {"s"}, "X-Topic": {"o"}}, `{"a":{"x":1,"y":[2]}}`),
		make(http.Header{"X-Shop": {"s"}}, `{"a":{"x":1,"y":[2]},"b":null}`),
		make(http.Header{"X-Shop": {"s"}}, `{"a":{"x":1,"y":[2]},"b":""}`),
		make(http.Header{"X-Shop": {"s"}}, `{"a":null}`),
		make(http.Header{"X-Shop": {"s"}}, `{"a":"s"}`),
	}
	require.Equal(t, keyOfBody(t, rule, same[0]), keyOfBody(t, rule, same[1]))
	seen := map[string]int{}
	for i, r := range different {
		key := keyOfBody(t, rule, r)
		require.NotContains(t, seen, key, "%d", i)
		seen[key] = i
	}

	form := Hashed(InForm("a"), InForm("b"))
	a := make(http.Header{}, "a=1&b=2")
	require.NotEqual(t, keyOfBody(t, form, a), keyOfBody(t, form, make(http.Header{}, "a=2&b=1")))
	require.Equal(t, keyOfBody(t, form, a), keyOfBody(t, form, make(http.Header{}, "c=3&b=2&a=1")))
	for body, message := range map[string]string{
		"a=1":         "form field b is missing or empty, and is part of the event id",
		"a=1&b=":      "form field b is missing or empty, and is part of the event id",
		"a=1&b=2&b=3": "form field b was sent more than once",
	} {
		_, err := form(&Document{R: make(http.Header{}, body)})
		require.EqualError(t, err, message)
	}
	_, err := rule(&Document{R: make(http.Header{"X-Shop": {"s", "t"}}, `{"a":1}`)})
	require.EqualError(t, err, "header X-Shop was sent more than once")
}

func TestHashedExcept(t *testing.T) {
	t.Parallel()
	rule := Hashed(At("").Except("/retryCount", "/meta/attempt", "/a~1b"))
	same := []string{
		`{"id":1,"meta":{"x":1}}`, `{"id":1,"retryCount":7,"meta":{"attempt":2,"x":1}}`, `{"a/b":[],"meta":{"x":1,"attempt":null},"id":1,"retryCount":{"a":[]}}`,
	}
	for _, body := range same {
		require.Equal(t, keyOfBody(t, rule, request(same[0])), keyOfBody(t, rule, request(body)), body)
	}
	for _, body := range []string{
		`{"id":2,"meta":{"x":1}}`, `{"id":1,"meta":{"x":1,"retryCount":1}}`, `{"id":1,"meta":{"x":1},"attempt":1}`, `{"id":1}`, `{"id":1,"meta":[{"attempt":1}]}`,
	} {
		require.NotEqual(t, keyOfBody(t, rule, request(same[0])), keyOfBody(t, rule, request(body)), body)
	}
	part := Hashed(At("/meta").Except("/attempt"))
	require.Equal(t, keyOfBody(t, part, request(same[0])), keyOfBody(t, part, request(same[1])))
}
