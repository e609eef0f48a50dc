package route

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Conditions read a form in the same way as the gateway, which found the event in it.
func TestConditionsReadFormsWithSemicolonsAndStrayPercentSigns(t *testing.T) {
	t.Parallel()
	body := parsePayload("application/x-www-form-urlencoded", []byte("id=1&text=100% done; ok&a=%zz&a=%41"))
	require.Equal(t, map[string]any{"id": "1", "text": "100% done; ok", "a": []any{"%zz", "A"}}, body)
}
