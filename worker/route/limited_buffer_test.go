package route

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRenderingIsBounded(t *testing.T) {
	t.Parallel()
	full := limitedBuffer{limit: 3}
	_, err := full.Write([]byte("abcd"))
	require.ErrorIs(t, err, errTooLarge)
	late := limitedBuffer{limit: 3, deadline: time.Now().Add(-time.Second)}
	_, err = late.Write([]byte("a"))
	require.ErrorIs(t, err, errTooSlow)

	envs, err := newExpressionEnvs()
	require.NoError(t, err)
	endless := compileEmail(envs.render, &EmailMessage{Recipient: `"a@example.com"`, Subject: "{{ range 1000000000 }}" + strings.Repeat("x", 64<<10) + "{{ end }}", Text: "x"},
		func(_, _ string, err error) { require.NoError(t, err) })
	_, err = endless.build(newEventScope(t.Context(), (&planCase{}).event()))
	require.ErrorIs(t, err, errTooLarge)
}
