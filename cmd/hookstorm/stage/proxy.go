package stage

import (
	"context"

	"github.com/hooklatch/hooklatch/cmd/hookstorm/pgproxy"
)

// Line is a proxy to a Postgres, with a listener for each client.
type Line struct {
	*pgproxy.Proxy

	url func() string // URL of the database, bypassing the proxy
}

// Proxy starts a proxy to the server at an address. The function url returns the URL of the
// database.
func (s *Stage) Proxy(address string, url func() string) (*Line, error) {
	proxy, err := pgproxy.Start(pgproxy.Options{Target: address})
	if err != nil {
		return nil, err
	}
	s.OnStop("proxy", func(context.Context) error { proxy.Stop(); return nil })
	return &Line{proxy, url}, nil
}

// URL returns the connection URL of the database through the listener of this name.
func (l *Line) URL(name string) (string, error) {
	listener, err := l.Listener(name)
	if err != nil {
		return "", err
	}
	return listener.URL(l.url())
}
