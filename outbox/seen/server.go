package seen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/hooklatch/hooklatch/outbox/secret"
)

const (
	// timeout limits a connection attempt, and each read and write of an exchange. No caller of Get
	// waits that long.
	timeout = time.Second
	// tested is the key that a test reads.
	tested = "hooklatch:test"
)

// server is a Redis server and the connection to it. One goroutine at a time may use it.
type server struct {
	network, address string
	options          []redis.DialOption
	conn             redis.Conn // nil: not connected
}

// errURL does not quote the URL, which may contain a password.
var errURL = errors.New("is not a URL of a Redis; allowed: redis://USER:PASSWORD@HOST:PORT/DATABASE, rediss:// for TLS, or unix:///PATH; without parameters")

// CheckURL returns an error for a URL that New would refuse. The error's text continues a sentence
// whose subject is the URL, and does not quote the URL.
func CheckURL(given secret.Value) error {
	_, err := parse(given)
	return err
}

func newServer(given secret.Value) (*server, error) {
	s, err := parse(given)
	if err != nil {
		return nil, fmt.Errorf("seen options: URL %w", err)
	}
	return s, nil
}

func parse(given secret.Value) (*server, error) {
	u, err := url.Parse(given.Reveal())
	if err != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errURL
	}
	password, _ := u.User.Password()
	s := &server{network: "tcp", address: net.JoinHostPort(u.Hostname(), "6379"), options: []redis.DialOption{
		redis.DialConnectTimeout(timeout), redis.DialReadTimeout(timeout), redis.DialWriteTimeout(timeout),
		redis.DialUsername(u.User.Username()), redis.DialPassword(password),
	}}
	switch {
	case u.Scheme == "unix" && u.Host == "" && u.Path != "":
		s.network, s.address = "unix", u.Path
		return s, nil
	case u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "":
		return nil, errURL
	}
	if port := u.Port(); port != "" {
		s.address = u.Host
	}
	if database := strings.Trim(u.Path, "/"); database != "" {
		number, err := strconv.Atoi(database)
		if err != nil || number < 0 {
			return nil, errURL
		}
		s.options = append(s.options, redis.DialDatabase(number))
	}
	s.options = append(s.options, redis.DialUseTLS(u.Scheme == "rediss"))
	return s, nil
}

// exchange reads keys and stores values, in one round trip. A value that Redis does not store is not
// an error.
func (s *server) exchange(keys []string, kept []pair) (values [][]byte, err error) {
	if len(keys) > 0 {
		err = s.conn.Send("MGET", redis.Args{}.AddFlat(keys)...)
	}
	for _, p := range kept {
		err = errors.Join(err, s.conn.Send("SET", p.key, p.value, "PX", p.ttl.Milliseconds()))
	}
	if err := errors.Join(err, s.conn.Flush()); err != nil {
		return nil, fmt.Errorf("talk to Redis: %w", err)
	}
	if len(keys) > 0 {
		replies, err := redis.Values(s.conn.Receive())
		if err != nil {
			return nil, fmt.Errorf("read from Redis: %w", err)
		}
		if len(replies) != len(keys) {
			return nil, fmt.Errorf("read from Redis: %d values for %d keys", len(replies), len(keys))
		}
		values = make([][]byte, len(keys))
		for i, reply := range replies {
			values[i], _ = reply.([]byte) // nil for any other type
		}
	}
	for range kept {
		_, err := s.conn.Receive()
		if _, refused := errors.AsType[redis.Error](err); err != nil && !refused {
			return nil, fmt.Errorf("talk to Redis: %w", err)
		}
	}
	return values, nil
}

// test connects if necessary, and measures the time of one read.
func (s *server) test(ctx context.Context) (took time.Duration, err error) {
	if s.conn == nil {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		conn, err := redis.DialContext(ctx, s.network, s.address, s.options...)
		if err != nil {
			return 0, fmt.Errorf("connect to Redis: %w", err)
		}
		s.conn = conn
	}
	began := time.Now()
	if _, err := s.exchange([]string{tested}, nil); err != nil {
		s.hangUp()
		return time.Since(began), err
	}
	return time.Since(began), nil
}

// hangUp closes the connection. The next test opens another.
func (s *server) hangUp() {
	if s.conn != nil {
		_ = s.conn.Close() // the connection is not used again
		s.conn = nil
	}
}

// Try stores a value in Redis and reads it back, and returns the total time of the two commands.
// The check command calls it.
func Try(ctx context.Context, given secret.Value) (took time.Duration, err error) {
	s, err := newServer(given)
	if err != nil {
		return 0, err
	}
	defer s.hangUp()
	if _, err := s.test(ctx); err != nil {
		return 0, err
	}
	text := rand.Text()
	began := time.Now()
	if _, err := s.conn.Do("SET", tested, text, "PX", timeout.Milliseconds()); err != nil {
		return 0, fmt.Errorf("store in Redis: %w", err)
	}
	values, err := s.exchange([]string{tested}, nil)
	if err == nil && string(values[0]) != text {
		err = errors.New("read from Redis: it has lost a value that it had just stored")
	}
	return time.Since(began), err
}
