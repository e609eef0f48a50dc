package plainjson_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/internal/plainjson"
)

func TestPartsBecomeOneObject(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for want, joined := range map[string]plainjson.Joined{
		`{}`:                   {object{}, struct{}{}},
		`{"a":1}`:              {object{"a": 1}, object{}},
		`{"b":2}`:              {object{}, object{"b": 2}},
		`{"b":"<&>","a":[{}]}`: {object{"b": "<&>"}, object{"a": []object{{}}}},
	} {
		text, err := plainjson.Marshal(joined)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	_, err := plainjson.Marshal(plainjson.Joined{make(chan int)})
	require.Error(t, err)
}

func TestATimeThatIsNotThereIsNull(t *testing.T) {
	t.Parallel()
	require.Nil(t, plainjson.OrNull(time.Time{}))
	at := time.Unix(1, 0)
	require.Equal(t, at, *plainjson.OrNull(at))
}
