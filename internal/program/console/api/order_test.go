package api_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/program/console/api"
)

var fields = map[string]string{"reason": "string", "looked": "boolean", "pace": "integer"}

func read(contentType, body string) (url.Values, error) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return api.ReadOrder(httptest.NewRecorder(), r, fields)
}

func TestAnOrderIsReadAsItsForm(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]url.Values{
		`{}`: {}, ` {"reason": "it's \u00e9"} `: {"reason": {"it's é"}}, `{"looked":true}`: {"looked": {"yes"}}, `{"looked":false,"reason":""}`: {},
		`{"pace":50,"reason":"x"}`: {"pace": {"50"}, "reason": {"x"}},
	} {
		got, err := read("application/json; charset=utf-8", body)
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
}

func TestAnOrderThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``: "must be a JSON object", `[]`: "must be a JSON object", `null`: "must be a JSON object", `{}{}`: "must be a JSON object", `"x"`: "must be a JSON object",
		`{"raeson":"x"}`: `Unknown field "raeson". Allowed: looked, pace, reason`, `{"looked":"yes"}`: `"looked" must be true or false`, `{"reason":null}`: `"reason" must be a string`,
		`{"pace":1.5}`: `"pace" must be a whole number`, `{"reason":{}}`: `"reason" must be a string`, `{"pace":1e300}`: `"pace" must be a whole number`,
	} {
		_, err := read("application/json", body)
		wrong, is := errors.AsType[*api.OrderError](err)
		require.True(t, is, body)
		require.Equal(t, http.StatusBadRequest, wrong.Status, body)
		require.Contains(t, wrong.Why, want, body)
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json, text/plain"} {
		_, err := read(kind, `{}`)
		wrong, is := errors.AsType[*api.OrderError](err)
		require.True(t, is, kind)
		require.Equal(t, http.StatusUnsupportedMediaType, wrong.Status, kind)
	}
	_, err := read("application/json", `{"reason":"`+strings.Repeat("x", api.MaxOrder)+`"}`)
	wrong, is := errors.AsType[*api.OrderError](err)
	require.True(t, is)
	require.Equal(t, http.StatusRequestEntityTooLarge, wrong.Status)
}

// FuzzOrder checks that only known fields are accepted, and that every other body causes an
// *OrderError.
func FuzzOrder(f *testing.F) {
	for _, seed := range []string{`{}`, `{"reason":"x","looked":true,"pace":7}`, `{"reason":"x","reason":"y"}`, `{"pace":-1e9}`, "\xff", `{"a":[{}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		form, err := api.ReadOrder(httptest.NewRecorder(), r, fields)
		if err != nil {
			_, is := errors.AsType[*api.OrderError](err)
			require.True(t, is)
			return
		}
		for name, values := range form {
			require.Contains(t, fields, name)
			require.Len(t, values, 1)
			require.NotEmpty(t, values[0])
		}
	})
}
