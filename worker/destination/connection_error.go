package destination

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/hooklatch/hooklatch/internal/egress"
	"github.com/hooklatch/hooklatch/outbox/ledger"
)

// notConnected returns the outcome of an attempt that got no connection, and so sent nothing. The
// outcome is final only if the egress guard refused the host.
func notConnected(ctx context.Context, host string, timeout time.Duration, err error) Outcome {
	if blocked, ok := errors.AsType[*egress.BlockedError](err); ok {
		if host == foreignHost {
			return refused("egress guard refused " + host)
		}
		return refused(blocked.Error())
	}
	return Outcome{
		Verdict: ledger.VerdictNotApplied,
		Err:     errors.New(oneLine(connectionError(ctx, host, timeout, err))),
	}
}

func connectionError(ctx context.Context, host string, timeout time.Duration, err error) string {
	if text := contextError(ctx, "no connection to "+host, timeout, err); text != "" {
		return text
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("look up %s: %s", host, dns.Err)
	}
	switch {
	case host == foreignHost && isTLSError(err):
		return "TLS handshake with " + host + " failed"
	case isTLSError(err):
		return fmt.Sprintf("TLS handshake with %s: %v", host, err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if host != foreignHost {
		return fmt.Sprintf("connect to %s: %v", host, err)
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return fmt.Sprintf("connect to %s: %v", host, number)
	}
	return "connect to " + host + " failed"
}

// unprocessed reports whether an HTTP/2 receiver promised that it did not process the request. The
// promise is REFUSED_STREAM, or a GOAWAY whose last stream is an earlier stream (RFC 9113, sections
// 6.8 and 8.7). net/http reports the promise only in the text of its error, and would itself resend
// the request if the body could be read twice. With any other text, the attempt is in doubt.
func unprocessed(err error) bool {
	text := err.Error()
	return strings.Contains(text, "cannot retry err [") &&
		(strings.Contains(text, "; REFUSED_STREAM") || strings.Contains(text, "graceful shutdown GOAWAY"))
}

// noAnswer returns the reason why an established connection yielded no usable response. It never
// quotes the error: net/http errors may contain parts of the receiver's data.
func noAnswer(ctx context.Context, host string, timeout time.Duration, err error) error {
	if text := contextError(ctx, "no answer from "+host, timeout, err); text != "" {
		return errors.New(oneLine(text))
	}
	text := "sent no valid answer"
	switch {
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		text = "reset the connection before its answer"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		text = "closed the connection before its answer"
	case isTLSError(err):
		text = "broke the TLS connection before its answer"
	}
	return errors.New(oneLine(host + " " + text))
}

// contextError describes an attempt that was interrupted or timed out. For any other attempt, it
// returns an empty text.
func contextError(ctx context.Context, what string, timeout time.Duration, err error) string {
	netErr, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return what + ": the attempt was interrupted"
	case ctx.Err() != nil || isNet && netErr.Timeout():
		return fmt.Sprintf("%s within %s", what, timeout)
	}
	return ""
}

func isTLSError(err error) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, hostname := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return verification || record || alert || authority || hostname || invalid
}
