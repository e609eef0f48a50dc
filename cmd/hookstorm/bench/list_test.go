package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shown is a page of the list.
type shown struct {
	Data []struct {
		Created int64
		Body    struct{ ID, Type string }
	}
	Next string
}

func page(t *testing.T, url string, since, until time.Time, cursor string) shown {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s?since=%d&until=%d&cursor=%s", url, since.Unix(), until.Unix(), cursor), http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	var p shown
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&p))
	return p
}

// Each event is listed exactly once, in the span in which it happened.
func TestTheListShowsEachEventOnce(t *testing.T) {
	t.Parallel()
	const n = 1234
	began := time.Now().Truncate(time.Second).Add(-time.Hour)
	server := httptest.NewServer(newList(n, began, began.Add(10*time.Minute)))
	t.Cleanup(server.Close)
	ids := map[string]bool{}
	for since := began.Add(-time.Minute); since.Before(began.Add(11 * time.Minute)); since = since.Add(97 * time.Second) {
		until := since.Add(97 * time.Second)
		for cursor := ""; ; {
			p := page(t, server.URL, since, until, cursor)
			for _, item := range p.Data {
				require.False(t, ids[item.Body.ID], item.Body.ID)
				ids[item.Body.ID] = true
				at := time.UnixMilli(item.Created)
				require.False(t, at.Before(since) || !at.Before(until), "%s is not in [%s, %s)", at, since, until)
			}
			if cursor = p.Next; cursor == "" {
				break
			}
		}
	}
	require.Len(t, ids, n)
	require.Equal(t, page(t, server.URL, began, began.Add(time.Hour), ""), page(t, server.URL, began, began.Add(time.Hour), ""), "a repeated request gets the same response")
}
