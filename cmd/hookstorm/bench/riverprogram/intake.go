package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/hooklatch/hooklatch/internal/logkey"
)

//go:embed insert_event.sql
var insertSQL string

// intake accepts events: one transaction for each, with its dedup row and its job.
type intake struct {
	pool   *pgxpool.Pool
	jobs   *river.Client[pgx.Tx]
	secret []byte
	logger *slog.Logger
}

func (in *intake) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhooks/{source}", in.receive)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("POST /pause", in.pause)
	mux.HandleFunc("POST /resume", func(w http.ResponseWriter, r *http.Request) {
		in.answer(w, in.jobs.QueueResume(r.Context(), river.QueueDefault, nil), http.StatusInternalServerError)
	})
	return mux
}

func (in *intake) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		in.answer(w, err, http.StatusRequestEntityTooLarge)
		return
	}
	if !in.signed(r.Header.Get("Stripe-Signature"), body, time.Now()) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var event struct {
		ID   string `json:"id"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(body, &event); err != nil || event.ID == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	in.answer(w, in.store(r.Context(), r.PathValue("source"), event.ID, event.Type, body), http.StatusServiceUnavailable)
}

// answer responds with 200 if err is nil. Otherwise, it logs err and responds with status.
func (in *intake) answer(w http.ResponseWriter, err error, status int) {
	if err == nil {
		status = http.StatusOK
	} else {
		in.logger.Error("request failed", slog.String(logkey.Err, err.Error()))
	}
	w.WriteHeader(status)
}

// signed reports whether a header t=SECONDS,v1=HEX contains the HMAC-SHA256 of "SECONDS.BODY"
// with a time that differs from now by at most maxSignature.
func (in *intake) signed(header string, body []byte, now time.Time) bool {
	var seconds string
	var given [][]byte
	for part := range strings.SplitSeq(header, ",") {
		switch name, value, _ := strings.Cut(part, "="); name {
		case "t":
			seconds = value
		case "v1":
			if sum, err := hex.DecodeString(value); err == nil {
				given = append(given, sum)
			}
		}
	}
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || now.Sub(time.Unix(at, 0)).Abs() > maxSignature {
		return false
	}
	mac := hmac.New(sha256.New, in.secret)
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	want := mac.Sum(nil)
	for _, sum := range given {
		if hmac.Equal(sum, want) {
			return true
		}
	}
	return false
}

// store stores an event with its job, once.
func (in *intake) store(ctx context.Context, source, id, kind string, body []byte) error {
	return pgx.BeginFunc(ctx, in.pool, func(tx pgx.Tx) error {
		inserted, err := tx.Exec(ctx, insertSQL, source, id, kind, body)
		if err != nil {
			return fmt.Errorf("insert the event: %w", err)
		}
		if inserted.RowsAffected() == 0 {
			return nil // a duplicate
		}
		if _, err := in.jobs.InsertTx(ctx, tx, delivery{Source: source, EventID: id}, nil); err != nil {
			return fmt.Errorf("insert the job: %w", err)
		}
		return nil
	})
}

// pause pauses the deliveries, and responds once this process no longer starts deliveries. If that
// takes longer than stopTimeout, it responds with 500.
func (in *intake) pause(w http.ResponseWriter, r *http.Request) {
	paused, cancel := in.jobs.Subscribe(river.EventKindQueuePaused)
	defer cancel()
	err := in.jobs.QueuePause(r.Context(), river.QueueDefault, nil)
	if err == nil {
		select {
		case <-paused:
		case <-time.After(stopTimeout):
			err = fmt.Errorf("the queue was not paused within %s", stopTimeout)
		}
	}
	in.answer(w, err, http.StatusInternalServerError)
}
