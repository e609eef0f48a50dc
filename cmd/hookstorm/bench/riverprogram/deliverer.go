package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
)

//go:embed payload.sql
var payloadSQL string

// delivery contains the arguments of an event's job.
type delivery struct {
	Source  string `json:"source"`
	EventID string `json:"event_id"`
}

// Kind implements river.JobArgs.
func (delivery) Kind() string { return "delivery" }

// deliverer sends events to the receiver.
type deliverer struct {
	river.WorkerDefaults[delivery]

	pool     *pgxpool.Pool
	client   *http.Client
	receiver string
}

func newDeliverer(pool *pgxpool.Pool, receiver string) *deliverer {
	// The client keeps an idle connection for each parallel delivery.
	transport := &http.Transport{MaxIdleConns: maxWorkers, MaxIdleConnsPerHost: maxWorkers}
	return &deliverer{pool: pool, client: &http.Client{Transport: transport, Timeout: callTimeout}, receiver: receiver}
}

// Work implements river.Worker. River retries the job after any error.
func (d *deliverer) Work(ctx context.Context, job *river.Job[delivery]) error {
	var body []byte
	if err := d.pool.QueryRow(ctx, payloadSQL, job.Args.Source, job.Args.EventID).Scan(&body); err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.receiver, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("create the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", job.Args.EventID)
	response, err := d.client.Do(request)
	if err != nil {
		return fmt.Errorf("deliver: %w", err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxBody)); err != nil { // otherwise the connection is not reused
		return fmt.Errorf("read the response: %w", err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answered %d", response.StatusCode)
	}
	return nil
}
