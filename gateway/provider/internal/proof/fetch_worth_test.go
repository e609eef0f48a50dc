package proof

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hooklatch/hooklatch/gateway/provider/internal/prooftest"
)

// TestKeptDocumentsMakeRoomByWorth checks that failures are evicted first, and documents that
// have verified something last.
func TestKeptDocumentsMakeRoomByWorth(t *testing.T) {
	t.Parallel()
	s := prooftest.NewServer(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/fails") {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	f := patientFetcher(s, "keys.example.com")
	get := func(path string) {
		_, _ = f.Cached(t.Context(), Asker{}, "https://keys.example.com"+path, time.Hour)
	}
	get("/pinned")
	f.Proven("https://keys.example.com/pinned")
	for i := range maxKept - 1 {
		get(fmt.Sprintf("/document/%d", i))
	}
	for i := range 100 {
		get(fmt.Sprintf("/fails/%d", i))
	}
	require.Len(t, f.kept, maxKept)
	for i := range maxKept - 1 {
		require.NotNil(t, f.kept[fmt.Sprintf("https://keys.example.com/document/%d", i)].document, i)
	}
	for i := range 2 * maxKept {
		get(fmt.Sprintf("/more/%d", i))
	}
	require.Len(t, f.kept, maxKept)
	require.NotNil(t, f.kept["https://keys.example.com/pinned"].document)
}
