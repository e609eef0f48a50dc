package config

import (
	"net/netip"
	"time"

	"github.com/hooklatch/hooklatch/outbox"
	"github.com/hooklatch/hooklatch/outbox/secret"
	"github.com/hooklatch/hooklatch/worker"
)

// Destination is where effects go: exactly one of HTTP, SMTP and SQL is set.
type Destination struct {
	// Sends effects as HTTP requests. Exactly one of http, smtp and sql is given.
	HTTP *HTTPDestination `yaml:"http,omitempty"`
	// Sends effects as e-mails.
	SMTP *SMTPDestination `yaml:"smtp,omitempty"`
	// Runs effects as statements in the same Postgres, exactly once.
	SQL *SQLDestination `yaml:"sql,omitempty"`
	// Attempts in progress at once, in one process. Defaults to 10.
	Concurrency int `yaml:"concurrency,omitempty"`
	// Most attempts started in a second, minute or hour, in all processes
	// together, like 50/s. Defaults to no limit.
	Rate Rate `yaml:"rate,omitempty"`
	// Attempts that may start at once after a pause, when there is a rate.
	// Defaults to one second's worth, and at least 1.
	Burst int `yaml:"burst,omitempty"`
	// How long one attempt may take. The longest of all destinations decides
	// after how long a job counts as stuck. Defaults to 15s.
	Timeout time.Duration `yaml:"timeout,omitempty"`
	// What happens to an effect that may have been applied: at_least_once tries
	// again with the same key and body, at_most_once parks it for a person.
	// Defaults to at_least_once.
	Policy outbox.Policy `yaml:"policy,omitempty"`
	// When a failed attempt is repeated.
	Retry Retry `yaml:"retry,omitempty"`
	// Statuses after which an HTTP request counts as not applied and is made
	// again, on the schedule of retry: 400 to 499 without 408, 409, 425 and 429,
	// which have a meaning of their own; with at_most_once only 401, 407 and 421.
	// An effect that ends on one has failed. [] means none. Defaults to 401, 403,
	// 404, 407, 421, 423; with at_most_once to 401, 407, 421.
	RetryOn *[]int `yaml:"retry_on,omitempty"`
	// How long the receiver remembers idempotency keys, like 24h. An effect that
	// was in doubt for longer is parked, because its key protects it no more.
	// Defaults to for ever.
	KeyTTL time.Duration `yaml:"key_ttl,omitempty"`
	// What follows when the receiver only replays the error it had stored for a
	// key: keep tries again under the same key, new_key under another one.
	// Defaults to keep.
	OnStoredError worker.OnStoredError `yaml:"on_stored_error,omitempty"`
	// When the destination counts as down and is paused.
	Breaker Breaker `yaml:"breaker,omitempty"`
	// Networks that are not public and may be reached all the same. The literal
	// address or localhost that url names needs no permission; the metadata
	// service of a cloud needs an entry of its own, like 169.254.169.254/32.
	// Defaults to none.
	AllowPrivate []netip.Prefix `yaml:"allow_private,omitempty"`
	// River queue of the effects; destinations that name the same one share it.
	// Defaults to dst_ and the name of the destination.
	Queue string `yaml:"queue,omitempty"`
}

// Retry says when a failed attempt is repeated. The wait doubles with each
// attempt, is spread at random, and is never shorter than a Retry-After.
type Retry struct {
	// Wait after the first attempt. Defaults to 5s.
	Initial time.Duration `yaml:"initial,omitempty"`
	// Longest wait. Defaults to 1h.
	Max time.Duration `yaml:"max,omitempty"`
	// Attempts before the effect is parked. Defaults to 20.
	MaxAttempts int `yaml:"max_attempts,omitempty"`
}

// Breaker says when a destination counts as down: then it is paused in all
// processes, until an attempt of its oldest effect succeeds. Every process
// counts its own attempts.
type Breaker struct {
	// Never pauses the destination. Defaults to false.
	Off bool `yaml:"off,omitempty"`
	// Attempts in a row that fail. Defaults to 10.
	Failures int `yaml:"failures,omitempty"`
	// Percentage of the attempts within window that fail. Defaults to 50.
	Percent int `yaml:"percent,omitempty"`
	// Attempts within window before percent counts. Defaults to 20.
	MinCalls int `yaml:"min_calls,omitempty"`
	// How long an attempt counts. Defaults to 30s.
	Window time.Duration `yaml:"window,omitempty"`
	// Wait for the first probe; it doubles with each. Defaults to 10s.
	Probe time.Duration `yaml:"probe,omitempty"`
	// Longest wait for a probe. Defaults to 5m.
	MaxProbe time.Duration `yaml:"max_probe,omitempty"`
}

// HTTPDestination sends effects as HTTP requests.
type HTTPDestination struct {
	// Where requests go; http or https, without user and password.
	URL string `yaml:"url,omitempty"`
	// Method of the request. Defaults to POST.
	Method string `yaml:"method,omitempty"`
	// Headers of every request. Their values are treated as secrets: they are
	// neither logged nor stored.
	Headers map[string]secret.Value `yaml:"headers,omitempty"`
	// Token of an Authorization: Bearer header.
	Bearer secret.Value `yaml:"bearer,omitempty"`
	// A file that holds the token, instead of bearer.
	BearerFile string `yaml:"bearer_file,omitempty"`
	// User and password of an Authorization: Basic header.
	Basic *Basic `yaml:"basic,omitempty"`
	// How requests are signed. Defaults to not at all.
	Sign *Sign `yaml:"sign,omitempty"`
	// Further origins that may be sent a signature, like
	// https://other.example.com. Where requests are signed, one that leads to
	// any but these and that of url is parked. Defaults to none.
	SignOrigins []string `yaml:"sign_origins,omitempty"`
	// Header that carries the idempotency key of the effect. Defaults to
	// Idempotency-Key.
	IdempotencyHeader string `yaml:"idempotency_header,omitempty"`
	// Header by which the receiver marks an answer it had stored for the key.
	// Defaults to Idempotent-Replayed.
	ReplayedHeader string `yaml:"replayed_header,omitempty"`
	// Sends a traceparent header, so that the receiver's spans continue our trace.
	// Defaults to false.
	PropagateTrace bool `yaml:"propagate_trace,omitempty"`
	// How much of an answer is read; the rest is not. Defaults to 64KiB.
	MaxResponse Size `yaml:"max_response,omitempty"`
}

// Basic is a user and a password.
type Basic struct {
	// Name of the user.
	User string `yaml:"user,omitempty"`
	// Password of the user.
	Password secret.Value `yaml:"password,omitempty"`
	// A file that holds the password, instead of password.
	PasswordFile string `yaml:"password_file,omitempty"`
}

// Sign says how requests are signed.
type Sign struct {
	// Secrets of a Standard Webhooks signature with a webhook-id that stays the
	// same in every attempt: whsec_ and Base64 of 24 to 64 bytes, or raw: and the
	// bytes themselves for a receiver that does not decode them; or whsk_ and
	// Base64 of an Ed25519 private key, whose public key hooklatch check shows.
	// Each of several signs, so that the receiver can change from one to the next.
	StandardWebhooks []secret.Value `yaml:"standard_webhooks,omitempty"`
	// A file that holds the secrets, one in a line, instead of standard_webhooks.
	StandardWebhooksFile string `yaml:"standard_webhooks_file,omitempty"`
}

// SMTPDestination sends effects as e-mails.
type SMTPDestination struct {
	// Name or address of the mail server.
	Host string `yaml:"host,omitempty"`
	// Port of the mail server. Defaults to 587 with starttls, 465 with
	// implicit, 25 with none.
	Port int `yaml:"port,omitempty"`
	// Sender of the mails: an address, or a name and an address in <>.
	From string `yaml:"from,omitempty"`
	// User to log in as. Defaults to no login.
	Username string `yaml:"username,omitempty"`
	// Password of the user.
	Password secret.Value `yaml:"password,omitempty"`
	// A file that holds the password, instead of password.
	PasswordFile string `yaml:"password_file,omitempty"`
	// How the connection is encrypted: starttls after a greeting in the clear,
	// implicit from the first byte, or none. Defaults to starttls, which is
	// required, not tried.
	TLS TLS `yaml:"tls,omitempty"`
}

// SQLDestination runs effects as statements.
type SQLDestination struct {
	// SQL statements with parameters $1, $2 and so on, by name. Each is one
	// statement; a parameter is text, so cast it where Postgres cannot know its
	// type.
	Statements map[string]string `yaml:"statements,omitempty"`
	// Postgres role the statements run as, of which that of database.url must
	// be a member. Defaults to that of database.url.
	Role string `yaml:"role,omitempty"`
	// Schemas in which the statements find names without one, in that order;
	// the search_path of the connection is not used. Defaults to public.
	SearchPath []string `yaml:"search_path,omitempty"`
}

// TLS is how the connection to a mail server is encrypted.
type TLS string

// The ways to encrypt a connection to a mail server.
const (
	TLSStart    TLS = "starttls"
	TLSImplicit TLS = "implicit"
	TLSNone     TLS = "none"
)
