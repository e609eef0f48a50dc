package cluster

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Distance is a network link between servers. It has a delay, but practically no limit on the bytes
// in transit. Unlike with pgproxy.Latency, a piece of the stream does not wait until the previous
// one has arrived.
type Distance struct {
	oneWay   time.Duration
	listener net.Listener
	running  sync.WaitGroup
}

// piece is the result of one read.
type piece struct {
	due   time.Time // arrival at the other end
	bytes []byte
}

const (
	// pieceSize is the largest size of one read, in bytes.
	pieceSize = 16 << 10
	// piecesUnderway is the maximum number of pieces in transit. No distance used here needs
	// that many.
	piecesUnderway = 1 << 14
)

// NewDistance creates a link with a delay of oneWay in each direction.
func NewDistance(oneWay time.Duration) (*Distance, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a distant server: %w", err)
	}
	return &Distance{oneWay: oneWay, listener: listener}, nil
}

// Upstream starts to relay connections to the primary at the given address, and returns the
// address to which the standby must connect. Use it as Options.Upstream.
func (d *Distance) Upstream(primary string) string {
	d.running.Go(func() {
		for {
			near, err := d.listener.Accept()
			if err != nil {
				return
			}
			away, err := net.Dial("tcp", primary) //nolint:noctx // dialing loopback does not wait
			if err != nil {
				_ = near.Close() // the standby connects again
				continue
			}
			d.running.Go(func() { d.carry(near, away) })
			d.running.Go(func() { d.carry(away, near) })
		}
	})
	return d.listener.Addr().String()
}

// Close stops accepting connections, and returns when the existing ones are closed. The caller must
// stop the servers first.
func (d *Distance) Close() {
	_ = d.listener.Close() // the listener is not needed again
	d.running.Wait()
}

// carry relays one direction of a connection until either side is closed.
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
