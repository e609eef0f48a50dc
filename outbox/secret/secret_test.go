package secret

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// I12: code that prints, logs or encodes a value with a secret does not show the secret.
func TestASecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	const canary = "hunter2"
	value := New(canary)
	type options struct{ Password Value }
	held := options{Password: value}

	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X"} {
		for _, holder := range []any{value, &value, held, &held, []Value{value}, map[string]Value{"password": value}} {
			printed := fmt.Sprintf(verb, holder)
			require.NotContains(t, printed, canary, verb)
			require.NotContains(t, strings.ToLower(printed), hex.EncodeToString([]byte(canary)), verb)
		}
	}

	var logged bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		slog.New(handler).Info("connect", slog.Any("password", value), slog.Any("options", held))
	}
	require.NotContains(t, logged.String(), canary)
	require.NotEqual(t, canary, value.LogValue().String())

	asJSON, err := json.Marshal(map[string]any{"value": value, "options": held})
	require.NoError(t, err)
	require.NotContains(t, string(asJSON), canary)
	asYAML, err := yaml.Marshal(held)
	require.NoError(t, err)
	require.NotContains(t, string(asYAML), canary)

	require.Equal(t, canary, value.Reveal())
}

func TestMark(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^[0-9a-f]{2}$`, New("hunter2").Mark("shop"))
	require.Equal(t, New("hunter2").Mark("shop"), New("hunter2").Mark("shop"))
	require.NotEqual(t, New("hunter2").Mark("shop"), New("hunter3").Mark("shop"))
	require.NotEqual(t, New("hunter2").Mark("shop"), New("hunter2").Mark("crm"))
}
