// This example receives webhooks from Hooklatch. It verifies the signature and
// applies each webhook-id once.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const tolerance = 5 * time.Minute

// verify checks the signature over the bytes as received. Parse them afterwards.
func verify(key []byte, header http.Header, body []byte, now time.Time) bool {
	id, timestamp := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	// During a secret rotation, the header has several signatures: one must match.
	for given := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(given), []byte(want)) {
			return true
		}
	}
	return false
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("APP_SECRET"), "whsec_"))
	if err != nil {
		fail(errors.New("APP_SECRET is not whsec_ and Base64"))
	}
	// In your program this is a table with a unique webhook_id. Insert with ON
	// CONFLICT DO NOTHING, in the transaction of your own writes.
	var mu sync.Mutex
	applied := map[string]bool{}

	http.HandleFunc("POST /hooks", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 32<<20))
		if err != nil || !verify(key, r.Header, body, time.Now()) {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		what, id := "applied", r.Header.Get("Webhook-Id")
		if applied[id] {
			what = "known"
		}
		applied[id] = true // apply the event's changes in the same transaction
		fmt.Println(what, id, r.Header.Get("Content-Type"), len(body))
		w.WriteHeader(http.StatusNoContent) // a duplicate gets the same response
	})
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		fail(err)
	}
	fmt.Println("listening", listener.Addr().(*net.TCPAddr).Port)
	server := &http.Server{ReadTimeout: 10 * time.Second}
	fail(server.Serve(listener))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
