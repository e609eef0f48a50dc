package stage

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve serves HTTP on a free loopback port until the stage stops, and returns the URL.
func (s *Stage) Serve(ctx context.Context, handler http.Handler) (url string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for calls: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until Close
	}()
	s.OnStop("server", func(context.Context) error {
		err := server.Close()
		<-served
		return err
	})
	return "http://" + listener.Addr().String(), nil
}
