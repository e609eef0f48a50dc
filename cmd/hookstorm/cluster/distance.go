package cluster

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Distance is a line between servers with a delay and without a limit on bytes in transit.
// Pieces do not wait for each other, unlike at a fault of the proxy.
type Distance struct {
	oneWay   time.Duration
	listener net.Listener
	running  sync.WaitGroup
}

// piece is the result of one read.
type piece struct {
	due   time.Time // at the other end
	bytes []byte
}

const (
	// pieceSize is the largest size of one read, in bytes.
	pieceSize = 16 << 10
	// piecesUnderway is how many pieces a line holds: more than any distance here needs.
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

// Upstream relays connections to the primary at that address, and returns the address where
// they begin. It is for Options.Upstream.
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

// Close accepts no more connections, and returns when the existing ones have ended. Their
// servers must have ended.
func (d *Distance) Close() {
	_ = d.listener.Close() // nothing is left to do with it
	d.running.Wait()
}

// carry relays one direction until either side ends.
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
			continue // pieces in transit are lost
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
