package cluster

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Distance is a line between servers that takes its time, and carries any number of
// bytes at once: those that are under way do not wait for each other, as they do at a
// fault of the proxy.
type Distance struct {
	oneWay   time.Duration
	listener net.Listener
	running  sync.WaitGroup
}

// piece is what one read brought.
type piece struct {
	due   time.Time // at the other end
	bytes []byte
}

const (
	// pieceSize is the most that one read brings, in bytes.
	pieceSize = 16 << 10
	// piecesUnderway is how many a line holds: more than any distance here needs.
	piecesUnderway = 1 << 14
)

// NewDistance makes a line that takes oneWay in each direction.
func NewDistance(oneWay time.Duration) (*Distance, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a distant server: %w", err)
	}
	return &Distance{oneWay: oneWay, listener: listener}, nil
}

// Upstream leads connections to the primary at that address, and returns where they
// begin: it is for Options.Upstream.
func (d *Distance) Upstream(primary string) string {
	d.running.Go(func() {
		for {
			near, err := d.listener.Accept()
			if err != nil {
				return
			}
			away, err := net.Dial("tcp", primary) //nolint:noctx // it does not wait on loopback
			if err != nil {
				_ = near.Close() // the server tries again
				continue
			}
			d.running.Go(func() { d.carry(near, away) })
			d.running.Go(func() { d.carry(away, near) })
		}
	})
	return d.listener.Addr().String()
}

// Close takes no more connections, and returns when those that there are have ended:
// their servers must have.
func (d *Distance) Close() {
	_ = d.listener.Close() // nothing is left to do with it
	d.running.Wait()
}

// carry ends with either side.
func (d *Distance) carry(from, to net.Conn) {
	underway := make(chan piece, piecesUnderway)
	d.running.Go(func() {
		for p := range underway {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.bytes); err != nil {
				break
			}
		}
		_, _ = from.Close(), to.Close() // both sides notice
		for range underway {
			continue // what is under way is lost
		}
	})
	defer close(underway)
	for {
		buffer := make([]byte, pieceSize)
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		underway <- piece{due: time.Now().Add(d.oneWay), bytes: buffer[:n]}
	}
}
